// Guesses how a text goes on by looking up where its last tokens occurred before.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace voltpile::llm {

// The lengths of the ends of a text that are looked up, in tokens. Shorter ones recur by chance.
constexpr int kLeastMatch = 2, kMostMatch = 32;

// Returns up to `most` tokens that may follow the text: those that followed an earlier occurrence of its end.
// The occurrence that agrees with the most tokens of the end counts, of equal ones the last. A text that
// repeats itself goes on repeating: the guess may be longer than what follows the occurrence. Returns nothing
// if the end did not occur before. Takes a time in proportion to the text.
std::vector<std::int32_t> look_up_next(std::span<const std::int32_t> text, int most);

}  // namespace voltpile::llm
