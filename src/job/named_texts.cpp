#include "job/named_texts.h"

#include <algorithm>

namespace voltpile {

std::vector<std::pair<std::string, std::string>> named_texts(const JobSpec& job, const std::string& path) {
    const Texts& all = job.texts(path);
    std::vector<std::pair<std::string, std::string>> named;
    for (std::size_t i = 0; i + 1 < all.size(); i += 2) named.emplace_back(all[i], all[i + 1]);
    std::ranges::sort(named);
    return named;
}

}  // namespace voltpile
