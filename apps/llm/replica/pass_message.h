// A pass on its way from the rank that plans to the others of its replica.
#pragma once

#include <string>

#include "llm/engine/pass.h"

namespace voltpile::llm {

// All ranks run the same program (check_same_build), so its own layout will do.
std::string to_bytes(const PlannedPass& pass);

// Throws CommError for bytes that are no pass.
PlannedPass pass_from_bytes(const std::string& bytes);

}  // namespace voltpile::llm
