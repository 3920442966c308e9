// Python's two ways to put values into a text.
#pragma once

#include "llm/chat/jinja/object.h"

namespace voltpile::llm::jinja {

// format % values: values is a tuple, a map for "%(name)s", or a single value. Throws Problem for what does
// not fit the format.
Value percent_formatted(Interpreter& interpreter, const Value& format, const Value& values);

// format.format(arguments). Throws Problem likewise.
Value braces_formatted(Interpreter& interpreter, const Value& format, const Arguments& arguments);

}  // namespace voltpile::llm::jinja
