// The filter `tojson`, as transformers defines it: Python's json.dumps without ASCII escapes.
#pragma once

#include <optional>
#include <string>

#include "llm/chat/jinja/value.h"

namespace voltpile::llm::jinja {

class Interpreter;

struct JsonStyle {
    bool ascii_only = false;            // escape all other characters
    std::optional<std::string> indent;  // of one level; without it everything is on one line
    std::string item_separator = ", ";
    std::string key_separator = ": ";
    bool sorted_keys = false;
};

// Throws Problem for what JSON cannot express.
std::string json_text(Interpreter& interpreter, const Value& value, const JsonStyle& style);

}  // namespace voltpile::llm::jinja
