// "Did you mean ...?"
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace voltpile {

// Insertions, deletions, replacements and swaps of neighbors that turn one text into the other (optimal
// string alignment), ignoring the case of ASCII letters.
int edit_distance(std::string_view a, std::string_view b);

// The candidate that `word` is most likely a misspelling of, if one is close enough to be worth suggesting.
std::optional<std::string> nearest_word(std::string_view word, std::span<const std::string> candidates);

// The same for dotted paths: "integrate.stpes" -> "integrate.steps"; "dt" or "system.dt" -> "integrate.dt".
std::optional<std::string> nearest_path(std::string_view path, std::span<const std::string> candidates);

// "; did you mean X?", or nothing.
std::string did_you_mean(const std::optional<std::string>& suggestion);

}  // namespace voltpile
