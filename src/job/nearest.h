// Suggestions for misspelled words: "did you mean ...?"
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace voltpile {

// Returns the optimal string alignment distance: insertions, deletions, substitutions and transpositions of
// neighbors. Ignores the case of ASCII letters.
int edit_distance(std::string_view a, std::string_view b);

// Returns the candidate closest to `word`, if one is close enough to suggest.
std::optional<std::string> nearest_word(std::string_view word, std::span<const std::string> candidates);

// The same for paths of keys: "integrate.stpes" -> "integrate.steps"; "dt" or "system.dt" -> "integrate.dt".
std::optional<std::string> nearest_path(std::string_view path, std::span<const std::string> candidates);

// Returns "; did you mean X?", or "" without a suggestion.
std::string did_you_mean(const std::optional<std::string>& suggestion);

}  // namespace voltpile
