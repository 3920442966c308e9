#include "llm/grammar/thinking_text.h"

#include <utility>

#include "llm/grammar/thought_reader.h"

namespace voltpile::llm {

std::string ThinkingText::set_thinking(bool thinking) {
    if (std::exchange(thinking_, thinking) == thinking) return {};
    if (!thinking) return "\n" + std::string(kThinkEnds) + "\n\n";
    return (answer_.empty() ? "" : "\n\n") + std::string(kThinkBegins) + "\n";
}

std::string ThinkingText::add(const std::vector<ToolCallPiece>& pieces) {
    std::string text;
    for (const ToolCallPiece& piece : pieces) {
        const bool thought = piece.kind == ToolCallPiece::Kind::Thought;
        text += set_thinking(thought) + piece.text;
        (thought ? thoughts_ : answer_) += piece.text;
    }
    return text;
}

std::string ThinkingText::finish() {
    std::string text = add(reader_.finish());
    return text + set_thinking(false);
}

std::string text_of_channels(std::string_view answer, bool only_answer) {
    ThinkingText thinking;
    std::string text = thinking.read(answer);
    text += thinking.finish();
    return only_answer ? thinking.answer() : text;
}

}  // namespace voltpile::llm
