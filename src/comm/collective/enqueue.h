// Helpers for measuring collectives.
#pragma once

#include "comm/collective/stream_communicator.h"

namespace voltpile {

// Enqueues one call on fp32 numbers. bytes: a multiple of 4 (of each rank's part if
// counts_parts()).
void enqueue_collective(StreamCommunicator& by, Collective collective, char* in, char* out,
                        std::int64_t bytes, const Stream& stream);

// Collective: every rank calls. Returns the largest of all ranks' numbers: a collective takes as long as its
// slowest rank.
double slowest_of(const Communicator& group, double seconds);

}  // namespace voltpile
