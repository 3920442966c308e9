// Makes a stream wait for a thread of the host, also in a CUDA graph that is launched many times.
#pragma once

#include <cstdint>

#include "device/stream.h"

namespace voltpile {

// Enqueues: adds one to `begun`, then waits until `done` has reached it or `abort` is nonzero. done, abort:
// pinned host memory. begun: on the GPU, zero at first.
void launch_wait_for_host(const std::uint64_t* done, const std::uint64_t* abort, std::uint64_t* begun,
                          const Stream& stream);

}  // namespace voltpile
