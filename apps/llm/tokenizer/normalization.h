// What a tokenizer does to text before it is cut into pieces.
#pragma once

#include <string>
#include <string_view>

#include "llm/tokenizer/vocabulary.h"

namespace voltpile::llm {

// Unicode normalization form C of valid UTF-8.
std::string to_nfc(std::string_view text);

// Space marks for spaces, and one before the text as `prefix` has it; AtStart: this is the start.
std::string with_space_marks(std::string_view text, SpacePrefix prefix);

// `text` with `from` replaced by `to`.
std::string replace_all(std::string_view text, std::string_view from, std::string_view to);

}  // namespace voltpile::llm
