// JSON as values for templates.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "llm/chat/jinja/value.h"

namespace voltpile::llm::jinja {

// Returns the value with keys in the order of the JSON, on which templates that print tools depend. Throws
// JobError for JSON that is nested too deeply.
Value value_from_json(const nlohmann::ordered_json& json);

}  // namespace voltpile::llm::jinja
