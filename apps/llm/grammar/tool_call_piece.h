// A piece of an answer: what its readers return.
#pragma once

#include <string>

namespace voltpile::llm {

struct ToolCallPiece {
    enum class Kind {
        Thought,    // more of the thoughts
        Text,       // more text
        Name,       // a call begins: the name of its tool
        Arguments,  // more of the JSON of the last call's arguments
    };
    Kind kind = Kind::Text;
    std::string text;
    bool operator==(const ToolCallPiece&) const = default;
};

}  // namespace voltpile::llm
