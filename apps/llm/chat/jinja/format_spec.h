// How a formatted value looks: width, precision and the like.
#pragma once

#include <optional>
#include <string>

#include "llm/chat/jinja/value.h"

namespace voltpile::llm::jinja {

class Interpreter;

struct FormatSpec {
    std::string fill = " ";
    char align = 0;  // '<', '>', '^' or '='; 0 for the default of the type
    bool plus = false, space = false, alternate = false, commas = false;
    std::int64_t width = 0;
    std::optional<std::int64_t> precision;
    char type = 0;  // 's', 'd', 'x', 'f', ...; 0 for the default of the value
};

// Returns a number as its type demands, with sign, not yet padded. Throws Problem if the type does not fit.
std::string formatted_number(const Value& value, const FormatSpec& spec);

// Cuts a text to the precision, in characters.
std::string cut(const std::string& text, const FormatSpec& spec);

// Pads to the width, in characters. Throws Problem if that costs more than the budget.
std::string padded(Interpreter& interpreter, const std::string& text, const FormatSpec& spec,
                   char default_align);

// Throws Problem for a width or a precision above 100,000.
void check_size(std::int64_t size);

}  // namespace voltpile::llm::jinja
