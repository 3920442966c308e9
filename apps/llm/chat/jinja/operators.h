// Python's arithmetic on values. All functions throw Problem for types and numbers that it does not take.
#pragma once

#include <string_view>

#include "llm/chat/jinja/value.h"

namespace voltpile::llm::jinja {

class Interpreter;

// sign: "+", "-", "*", "/", "//", "%" or "**". Integers have 64 bits.
Value computed(Interpreter& interpreter, std::string_view sign, const Value& left, const Value& right);

Value negated(const Value& value);

}  // namespace voltpile::llm::jinja
