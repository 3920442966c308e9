// Where a thread runs.
#pragma once

namespace voltpile {

// Keeps the calling thread, and those that it starts, to one logical processor; -1: wherever the system lets
// this process run, even if mpirun has bound it to one core. A matter of speed alone, so a refusal (a
// container's limits) is no error.
void bind_this_thread(int pu);

}  // namespace voltpile
