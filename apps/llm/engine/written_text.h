// A text while it is being written, up to the first of its stop strings.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "llm/tokenizer/stream_decoder.h"

namespace voltpile::llm {

class WrittenText {
  public:
    // tokenizer: nullptr for no text at all; outlives this object. continues: see StreamDecoder. Empty stop
    // strings are none.
    WrittenText(const Tokenizer* tokenizer, bool continues, std::vector<std::string> stop);

    // False if a stop string has come: the text ends before the first place where one begins.
    bool push(TokenId id);

    // What there is. Call it once, at the end.
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
