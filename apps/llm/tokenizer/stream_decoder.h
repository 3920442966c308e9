// Decodes tokens to text one by one and never returns a partial character.
#pragma once

#include <compare>
#include <string>
#include <utility>
#include <vector>

#include "llm/tokenizer/tokenizer.h"

namespace voltpile::llm {

// Stands before the name of a special token in a text, so that the same characters from ordinary tokens are
// no marker: no text in UTF-8 has this byte.
inline constexpr char kMarkerByte = '\xFF';

// Special tokens whose names are text.
struct ShownTokens {
    std::vector<TokenId> ids{};
    bool marked = false;  // kMarkerByte stands before each name
    auto operator<=>(const ShownTokens&) const = default;
};

class StreamDecoder {
  public:
    // tokenizer: must outlive this object. continues: the text continues a prompt, so keep a space at its
    // beginning. shown: special tokens that are not skipped.
    explicit StreamDecoder(const Tokenizer& tokenizer, bool skip_special = true, bool continues = false,
                           ShownTokens shown = {})
        : tokenizer_(tokenizer),
          skip_special_(skip_special),
          shown_(std::move(shown)),
          drop_space_(!continues && tokenizer.drops_first_space()) {}

    // Adds a token and returns the text that is now certain: whole characters, and U+FFFD for bytes that
    // cannot become one. Keeps bytes that may begin a character for the next call.
    std::string push(TokenId id);

    // Whether bytes are waiting for the rest of their character.
    bool waits() const { return !waiting_.empty(); }

    // Returns U+FFFD if bytes are still waiting. Call it at the end.
    std::string flush();

  private:
    const Tokenizer& tokenizer_;
    bool skip_special_;
    ShownTokens shown_;
    bool drop_space_;      // drop a space at the beginning of the next text
    std::string waiting_;  // at most three bytes between calls
};

}  // namespace voltpile::llm
