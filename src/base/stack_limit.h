// The size of the stack, which a shell or batch system may have limited (`ulimit -s`).
#pragma once

namespace voltpile {

// Raises a stack limit below 1 MiB, for this thread and as the default of threads that start later: libraries
// (PCRE2, MPI) use tens of KiB in one call and would end the program by a segmentation fault. Call it once,
// before other threads start. Throws MachineError if the hard limit forbids that.
void raise_stack_limit();

}  // namespace voltpile
