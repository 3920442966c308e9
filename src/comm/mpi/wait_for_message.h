// Waiting for a message without burning a core for long.
#pragma once

#include <chrono>

#include "comm/mpi/communicator.h"

namespace voltpile {

// The next message under `tag`: waits awake for `patience`, asleep from then on.
Message wait_for_message(const Communicator& group, int tag, std::chrono::microseconds patience = {});

}  // namespace voltpile
