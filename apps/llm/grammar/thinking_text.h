// Writes an answer in the harmony format as one text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "llm/grammar/harmony_reader.h"

namespace voltpile::llm {

// The thoughts stand between <think> and </think>, as other models write theirs. The answer has no calls.
class ThinkingText {
  public:
    // Reads the next piece of the answer, with its markers, and returns what it adds to the text.
    std::string read(std::string_view text) { return add(reader_.read(text)); }
    // Returns the end of the text.
    std::string finish();

    // Without the other, so far.
    const std::string& thoughts() const { return thoughts_; }
    const std::string& answer() const { return answer_; }

  private:
    std::string add(const std::vector<ToolCallPiece>& pieces);
    std::string set_thinking(bool thinking);

    HarmonyReader reader_{false};
    std::string thoughts_, answer_;
    bool thinking_ = false;
};

// Returns the text of a whole answer. only_answer: without thoughts.
std::string text_of_channels(std::string_view answer, bool only_answer);

}  // namespace voltpile::llm
