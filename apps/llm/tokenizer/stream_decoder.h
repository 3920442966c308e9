// Token ids to text while they come, never half a character.
#pragma once

#include <string>

#include "llm/tokenizer/tokenizer.h"

namespace voltpile::llm {

class StreamDecoder {
  public:
    // `continues`: the text goes on after a prompt's, so that a space at its beginning is meant.
    // `tokenizer` must outlive this object.
    explicit StreamDecoder(const Tokenizer& tokenizer, bool skip_special = true, bool continues = false)
        : tokenizer_(tokenizer),
          skip_special_(skip_special),
          drop_space_(!continues && tokenizer.drops_first_space()) {}

    // The text that is certain with this token: whole characters, and U+FFFD for bytes that can no longer
    // become one. What may be the beginning of a character waits.
    std::string push(TokenId id);

    // U+FFFD if something is still waiting: call it at the end.
    std::string flush();

  private:
    const Tokenizer& tokenizer_;
    bool skip_special_;
    bool drop_space_;      // if the next text begins with one
    std::string waiting_;  // at most three bytes between calls
};

}  // namespace voltpile::llm
