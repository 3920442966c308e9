// Separates a model's thoughts from its answer while it is being written: what stands between <think> and
// </think> at the beginning.
#pragma once

#include <string>
#include <string_view>

namespace voltpile::llm {

inline constexpr std::string_view kThinkBegins = "<think>", kThinkEnds = "</think>";

enum class Thoughts {
    None,      // all is text
    Maybe,     // the answer may begin with <think>
    Open,      // the prompt ends with <think>, so the answer begins with thoughts
    Channels,  // the answer is in the harmony format, which harmony_reader.h reads
};

// White space around thoughts is dropped.
class ThoughtReader {
  public:
    struct Piece {
        std::string thought;
        std::string text;  // after the thought
    };

    explicit ThoughtReader(Thoughts thoughts);

    // Reads the next piece of the answer. Wherever the answer is cut, all pieces together are the same. What
    // may be part of a tag is held back until that is decided.
    Piece read(std::string_view text);
    // Returns what is held back. Call it at the end.
    Piece finish();

  private:
    enum class Place { Before, Thought, After, Text };

    void read_before(char c, Piece& piece);
    void read_thought(char c, Piece& piece);

    Place place_;
    std::string pending_;      // white space, and then the beginning of a tag
    std::size_t matched_ = 0;  // bytes of the tag
    bool begun_ = false;       // the thought has more than white space
};

}  // namespace voltpile::llm
