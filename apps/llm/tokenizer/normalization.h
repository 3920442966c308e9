// Normalizes text before a tokenizer cuts it into pieces.
#pragma once

#include <string>
#include <string_view>

#include "llm/tokenizer/vocabulary.h"

namespace voltpile::llm {

// Returns Unicode normalization form C of valid UTF-8.
std::string to_nfc(std::string_view text);

// Replaces spaces by space marks and adds one in front according to `prefix`. AtStart adds it, because the
// caller passes it only for the start of the whole text.
std::string with_space_marks(std::string_view text, SpacePrefix prefix);

// Returns `text` with every `from` replaced by `to`.
std::string replace_all(std::string_view text, std::string_view from, std::string_view to);

}  // namespace voltpile::llm
