#include "job/nearest.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace voltpile {
namespace {

constexpr std::size_t longest_word = 64;  // longer than any key; the distance takes quadratic time

char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// Returns how many errors a word of this length may have and still get a suggestion.
int permitted_distance(std::size_t length) {
    return length < 2 ? 0 : std::max(1, static_cast<int>(length + 1) / 3);
}

struct Split {
    std::string_view table, key;
};

Split split_path(std::string_view path) {
    const auto dot = path.rfind('.');
    if (dot == std::string_view::npos) return {"", path};
    return {path.substr(0, dot), path.substr(dot + 1)};
}

}  // namespace

int edit_distance(std::string_view a, std::string_view b) {
    const std::size_t columns = b.size() + 1;
    std::vector<int> before(columns), last(columns), row(columns);
    for (std::size_t j = 0; j < columns; ++j) last[j] = static_cast<int>(j);
    for (std::size_t i = 1; i <= a.size(); ++i) {
        row[0] = static_cast<int>(i);
        for (std::size_t j = 1; j < columns; ++j) {
            const bool same = lower(a[i - 1]) == lower(b[j - 1]);
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
            const bool swapped =
                i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]);
            if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
        }
        std::swap(before, last);
        std::swap(last, row);
    }
    return last[b.size()];
}

std::optional<std::string> nearest_word(std::string_view word, std::span<const std::string> candidates) {
    if (word.size() > longest_word) return std::nullopt;
    std::optional<std::string> best;
    int best_distance = permitted_distance(word.size()) + 1;
    for (const auto& candidate : candidates) {
        const int distance = edit_distance(word, candidate);
        if (distance >= best_distance) continue;
        best_distance = distance;
        best = candidate;
    }
    return best;
}

std::optional<std::string> nearest_path(std::string_view path, std::span<const std::string> candidates) {
    const auto [table, key] = split_path(path);
    if (path.size() > longest_word) return std::nullopt;
    std::optional<std::string> best;
    int best_score = std::numeric_limits<int>::max();
    for (const auto& candidate : candidates) {
        const auto [other_table, other_key] = split_path(candidate);
        const int distance = edit_distance(key, other_key);
        if (distance > permitted_distance(key.size())) continue;
        // Prefer a correct key in the wrong table to one in the right table with more than one wrong letter.
        const int score = 2 * distance + (table == other_table ? 0 : 3);
        if (score >= best_score) continue;
        best_score = score;
        best = candidate;
    }
    return best;
}

std::string did_you_mean(const std::optional<std::string>& suggestion) {
    return suggestion ? "; did you mean " + *suggestion + "?" : "";
}

}  // namespace voltpile
