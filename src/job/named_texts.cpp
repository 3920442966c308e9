#include "job/named_texts.h"

#include <algorithm>

namespace voltpile {

NamedTexts named_texts_in_order(const JobSpec& job, const std::string& path) {
    const Texts& all = job.texts(path);
    NamedTexts named;
    for (std::size_t i = 0; i + 1 < all.size(); i += 2) named.emplace_back(all[i], all[i + 1]);
    return named;
}

NamedTexts named_texts(const JobSpec& job, const std::string& path) {
    NamedTexts named = named_texts_in_order(job, path);
    std::ranges::sort(named);
    return named;
}

}  // namespace voltpile
