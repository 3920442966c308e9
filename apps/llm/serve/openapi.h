#pragma once

#include <string>

#include "llm/serve/generation_fields.h"

namespace voltpile::llm {

// Returns the description of the API in the format of OpenAPI 3.1, for programs that make clients or tests of
// it.
std::string openapi_json(const ServedModel& model);

}  // namespace voltpile::llm
