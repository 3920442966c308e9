#include "llm/engine/text_lookup.h"

#include <algorithm>

namespace voltpile::llm {
namespace {

// Returns how many tokens before `end` agree with the last ones of the text, at most kMostMatch.
std::size_t match_before(std::span<const std::int32_t> text, std::size_t end) {
    const std::size_t most = std::min<std::size_t>(end, kMostMatch);
    std::size_t length = 0;
    while (length < most && text[end - 1 - length] == text[text.size() - 1 - length]) ++length;
    return length;
}

}  // namespace

std::vector<std::int32_t> look_up_next(std::span<const std::int32_t> text, int most) {
    std::vector<std::int32_t> next;
    if (most <= 0 || text.empty()) return next;
    std::size_t begin = 0, longest = kLeastMatch - 1;  // where the guess begins; the best match so far
    for (std::size_t end = text.size() - 1; end >= kLeastMatch && longest < kMostMatch; --end) {
        if (text[end - 1] != text.back()) continue;
        if (const std::size_t length = match_before(text, end); length > longest) {
            longest = length;
            begin = end;
        }
    }
    if (begin == 0) return next;
    for (std::size_t at = begin; std::ssize(next) < most; ++at)
        next.push_back(at < text.size() ? text[at] : next[at - text.size()]);
    return next;
}

}  // namespace voltpile::llm
