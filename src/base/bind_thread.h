// Where a thread runs.
#pragma once

#include <span>

namespace voltpile {

// Keeps the calling thread, and those that it starts, to these logical processors; -1 among them: wherever
// the system lets this process run, even if mpirun has bound it to one core. A matter of speed alone, so a
// refusal (a container's limits) is no error.
void bind_this_thread(std::span<const int> pus);
void bind_this_thread(int pu);

}  // namespace voltpile
