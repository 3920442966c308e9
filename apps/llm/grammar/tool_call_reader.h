// Separates a model's thoughts and the calls of tools from the text of its answer, while it is being written.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "llm/grammar/call_object.h"
#include "llm/grammar/harmony_reader.h"
#include "llm/grammar/thought_reader.h"
#include "llm/grammar/tool_call_piece.h"
#include "llm/grammar/tool_format.h"

namespace voltpile::llm {

// White space before and after calls is dropped. What looks like a call and is none is text. A call that
// breaks off before its name is complete is dropped; later, it keeps the arguments that it has, also if their
// JSON turns out wrong.
class ToolCallReader {
  public:
    // Without a format there are no calls. Thoughts::Channels: the answer is in the harmony format, and has
    // its markers (StreamDecoder).
    explicit ToolCallReader(std::optional<ToolFormat> format, Thoughts thoughts = Thoughts::None);

    // Reads the next piece of the answer. Wherever the answer is cut, all pieces together are the same. Text
    // that may be the beginning of a call is held back until that is decided.
    std::vector<ToolCallPiece> read(std::string_view text);
    // Returns the text that is held back. Call it at the end.
    std::vector<ToolCallPiece> finish();

    int calls() const { return channels_ ? channels_->calls() : calls_; }

  private:
    enum class Place {
        Text,
        Object,     // in or before an object that is a call
        Closing,    // after an object, before its closing tag
        List,       // in or before a list of calls
        Name,       // of a call whose arguments follow it
        Arguments,  // after such a name
    };

    void read_piece(const ThoughtReader::Piece& piece);
    void read_byte(char c);
    void read_text(char c);
    void begin_call();
    void read_object(char c);
    void read_closing(char c);
    void read_list(char c);
    void read_name(char c);
    void give_up();
    void add(ToolCallPiece::Kind kind, std::string_view text);

    std::optional<HarmonyReader> channels_;  // reads all, if there is one
    ThoughtReader thoughts_;
    std::optional<ToolFormat> format_;
    std::optional<ToolCallStart> start_;
    Place place_ = Place::Text;
    std::string pending_;  // text that may belong to a call, or be the white space before it
    std::string raw_;      // of a call whose name is not known
    std::string name_;     // in Place::Name
    CallObject object_;
    JsonValueEnd end_;      // of Place::Arguments
    bool named_ = false;    // the object's name is among the pieces
    bool in_list_ = false;  // a list was opened
    int calls_ = 0;
    std::vector<ToolCallPiece> pieces_;
};

struct ToolCall {
    std::string name;
    std::string arguments;  // JSON
};

struct ReadAnswer {
    std::string thought;
    std::string text;
    std::vector<ToolCall> calls;
};

// Reads a whole answer.
ReadAnswer read_answer(std::optional<ToolFormat> format, std::string_view text,
                       Thoughts thoughts = Thoughts::None);

}  // namespace voltpile::llm
