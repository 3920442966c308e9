// Binds threads to processors.
#pragma once

#include <span>

namespace voltpile {

// Binds the calling thread, and the threads it starts, to these logical processors. -1 among them means
// wherever the system lets this process run, even if mpirun has bound it to one core. Binding affects speed
// only, so a failure (a container's limits) is not an error.
void bind_this_thread(std::span<const int> pus);
void bind_this_thread(int pu);

}  // namespace voltpile
