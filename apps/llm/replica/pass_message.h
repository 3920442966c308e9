// Messages between the ranks of a replica: passes, and how their tokens are drawn.
//
// All ranks run the same program (check_same_build), so messages use the program's own memory layout.
#pragma once

#include <string>
#include <vector>

#include "base/message_bytes.h"
#include "llm/engine/pass.h"
#include "llm/engine/request.h"
#include "llm/ops/sampling.h"

namespace voltpile::llm {

// The bytes of a pass, from the rank that plans it to the other ranks of its replica.
std::string to_bytes(const PlannedPass& pass);

// Throws CommError if the bytes are not a pass.
PlannedPass pass_from_bytes(const std::string& bytes);

// The same for the draws of a pass that has draws_later.
std::string to_bytes(const std::vector<Draw>& draws);
std::vector<Draw> draws_from_bytes(const std::string& bytes);

// Sampling settings as a part of a larger message.
void write(MessageWriter& to, const SamplingSettings& settings);
SamplingSettings read_sampling(MessageReader& from);  // throws CommError

// The same for all settings of a request.
void write(MessageWriter& to, const RequestSettings& settings);
RequestSettings read_request_settings(MessageReader& from);  // throws CommError

}  // namespace voltpile::llm
