// What measuring needs.
#pragma once

#include "comm/collective/stream_communicator.h"

namespace voltpile {

// One call on fp32 numbers. bytes: a multiple of 4 (of each rank's part in all_gather and reduce_scatter).
void enqueue_collective(StreamCommunicator& by, Collective collective, char* in, char* out,
                        std::int64_t bytes, const Stream& stream);

// Collective: every rank calls. The largest of all ranks' numbers: a collective takes as long as its slowest
// rank says.
double slowest_of(const Communicator& group, double seconds);

}  // namespace voltpile
