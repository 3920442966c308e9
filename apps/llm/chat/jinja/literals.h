// Names, numbers and texts in the expressions of a template.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace voltpile::llm::jinja {

// Returns the length of the name that `text` begins with; 0 if it begins with none.
std::size_t name_length(std::string_view text);

struct NumberLiteral {
    std::size_t bytes = 0;
    bool is_integer = true;
    bool out_of_range = false;  // of 64 bits
    std::int64_t integer = 0;
    double real = 0;
};

// Reads the number that `text` begins with; it begins with a digit. after_dot: the number is an index, as in
// `list.0`, and has no fraction.
NumberLiteral number_literal(std::string_view text, bool after_dot);

// Resolves the escapes of Python's texts. Sets `problem` for an invalid one.
std::string unescaped(std::string_view text, std::string& problem);

}  // namespace voltpile::llm::jinja
