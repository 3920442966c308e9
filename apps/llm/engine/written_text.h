// Builds the text of a sequence token by token, up to the first stop string.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "llm/tokenizer/stream_decoder.h"

namespace voltpile::llm {

class WrittenText {
  public:
    // tokenizer: must outlive this object; nullptr builds no text. continues: see StreamDecoder. Ignores
    // empty stop strings.
    WrittenText(const Tokenizer* tokenizer, bool continues, std::vector<std::string> stop);

    // Adds a token. Returns false once the text contains a stop string, and cuts the text before the first
    // one.
    bool push(TokenId id);

    // Returns the text. Call it once, at the end.
    std::string take();

  private:
    bool cut_at_stop(std::size_t from);

    std::optional<StreamDecoder> decoder_;
    std::vector<std::string> stop_;
    std::size_t longest_stop_ = 0;
    std::string text_;
    bool stopped_ = false;
};

}  // namespace voltpile::llm
