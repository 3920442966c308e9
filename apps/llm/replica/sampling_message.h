// How a token is to be drawn, as a part of messages between ranks.
#pragma once

#include "base/message_bytes.h"
#include "llm/ops/sampling.h"

namespace voltpile::llm {

void write(MessageWriter& to, const SamplingSettings& settings);
SamplingSettings read_sampling(MessageReader& from);  // throws CommError

}  // namespace voltpile::llm
