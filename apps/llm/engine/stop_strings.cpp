#include "llm/engine/stop_strings.h"

#include <algorithm>
#include <utility>

namespace voltpile::llm {

StopStrings::Pattern::Pattern(std::string stop) : text(std::move(stop)), border(text.size(), 0) {
    for (std::size_t i = 1, length = 0; i < text.size(); ++i) {
        while (length > 0 && text[i] != text[length]) length = border[length - 1];
        if (text[i] == text[length]) ++length;
        border[i] = length;
    }
}

bool StopStrings::Pattern::read(char next) {
    while (matched > 0 && text[matched] != next) matched = border[matched - 1];
    if (text[matched] == next) ++matched;
    if (matched < text.size()) return false;
    matched = border[matched - 1];
    return true;
}

StopStrings::StopStrings(const std::vector<std::string>& strings) {
    for (const std::string& each : strings)
        if (!each.empty()) patterns_.emplace_back(each);
}

std::optional<std::size_t> StopStrings::read(std::string_view piece) {
    std::optional<std::size_t> first;
    for (Pattern& pattern : patterns_) {
        for (std::size_t i = 0; i < piece.size(); ++i) {
            if (!pattern.read(piece[i])) continue;
            const std::size_t begin = read_ + i + 1 - pattern.text.size();
            if (!first || begin < *first) first = begin;
            break;
        }
    }
    read_ += piece.size();
    return first;
}

std::size_t StopStrings::held() const {
    std::size_t most = 0;
    for (const Pattern& pattern : patterns_) most = std::max(most, pattern.matched);
    return most;
}

}  // namespace voltpile::llm
