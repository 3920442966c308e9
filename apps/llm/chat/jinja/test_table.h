// The tests that templates can make: `value is name(arguments)`.
#pragma once

#include <string_view>

#include "llm/chat/jinja/object.h"

namespace voltpile::llm::jinja {

using TestFunction = bool (*)(Interpreter& interpreter, const Value& input, const Arguments& arguments);

// Returns nullptr if there is no such test.
TestFunction find_test(std::string_view name);

}  // namespace voltpile::llm::jinja
