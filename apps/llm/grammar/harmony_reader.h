// Reads answers in the harmony format: thoughts, text and calls of tools.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "llm/grammar/tool_call_piece.h"

namespace voltpile::llm {

// The message of a channel is
// - a call if its recipient is "functions.NAME" and the answer may have calls,
// - a thought in the channel "analysis", or with another recipient: a tool that the user does not have,
// - text in all other channels, or without a channel; also text without a header.
// An empty line separates thoughts from earlier thoughts, and text from earlier text. Headers without a
// message are dropped. A message that breaks off counts as far as it goes.
class HarmonyReader {
  public:
    // calls: the answer may have some.
    explicit HarmonyReader(bool calls) : may_call_(calls) {}

    // Reads the next piece of the answer, with markers as harmony.h has them. Wherever the answer is cut, all
    // pieces together are the same.
    std::vector<ToolCallPiece> read(std::string_view text);
    // Returns the text that is held back. Call it at the end.
    std::vector<ToolCallPiece> finish();

    int calls() const { return calls_; }

  private:
    enum class Place {
        Between,  // before a header, at the beginning or after a message
        Header,
        Message,
    };
    using Kind = ToolCallPiece::Kind;

    void read_byte(char c);
    void read_mark(std::string_view mark);
    void begin_message();
    void begin_message(Kind kind);
    void add(Kind kind, std::string_view text);

    bool may_call_;
    Place place_ = Place::Between;
    std::string mark_;    // the beginning of a marker
    std::string header_;  // with its markers; before that, what may be its beginning
    Kind kind_ = Kind::Text;
    bool begun_ = false;                            // the message has text
    bool has_thoughts_ = false, has_text_ = false;  // earlier messages
    int calls_ = 0;
    std::vector<ToolCallPiece> pieces_;
};

}  // namespace voltpile::llm
