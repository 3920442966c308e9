// Values as Python prints them.
#pragma once

#include <string>

#include "llm/chat/jinja/value.h"

namespace voltpile::llm::jinja {

class Interpreter;

// Python's str(): texts as they are, nothing for what is undefined.
std::string printed(Interpreter& interpreter, const Value& value);

// Python's repr(): texts in quotes.
std::string represented(Interpreter& interpreter, const Value& value);

std::string printed_map(Interpreter& interpreter, const Entries& entries);

// The shortest decimal number that reads back as the same: "1.0", "1e-05", "nan".
std::string printed_real(double number);

}  // namespace voltpile::llm::jinja
