// The functions that templates can call by name.
#pragma once

#include <optional>
#include <string_view>

#include "llm/chat/jinja/value.h"

namespace voltpile::llm::jinja {

// Returns range, dict, namespace, raise_exception, strftime_now, cycler or joiner; nothing for another name.
std::optional<Value> global_function(std::string_view name);

}  // namespace voltpile::llm::jinja
