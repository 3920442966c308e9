// Builds the text of a sequence token by token, up to the first stop string.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "llm/engine/stop_strings.h"
#include "llm/tokenizer/stream_decoder.h"

namespace voltpile::llm {

class WrittenText {
  public:
    // tokenizer: must outlive this object; nullptr builds no text. continues, shown: see StreamDecoder.
    // Ignores empty stop strings.
    WrittenText(const Tokenizer* tokenizer, bool continues, const std::vector<std::string>& stop,
                ShownTokens shown = {});

    // Adds a token. Returns false once the text contains a stop string, and cuts the text before the first
    // one; then no more tokens may follow.
    bool push(TokenId id);

    // No more tokens follow: all text is certain now.
    void finish();

    struct News {
        std::string_view text;   // whole characters; valid until the next push() or finish()
        std::size_t tokens = 0;  // how many more tokens have all of their text in the news so far
    };
    // Returns what has become certain since the last call: no token that follows can change it.
    News news();
    // Whether news() would return anything.
    bool has_news() const { return told_ < certain_ || (!ends_.empty() && ends_.front() <= certain_); }

    // Returns the whole text. Call it once, at the end.
    std::string take() { return std::move(text_); }

  private:
    std::optional<StreamDecoder> decoder_;
    StopStrings stop_;
    std::string text_;
    std::size_t certain_ = 0;       // bytes of text_
    std::size_t told_ = 0;          // bytes of text_ that news() has returned
    std::deque<std::size_t> ends_;  // of tokens that news() has not returned: where in text_ theirs ends
};

}  // namespace voltpile::llm
