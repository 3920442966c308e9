// The MPI program that `voltpile hosts` starts with mpirun on all hosts (cluster/hosts/links).
#pragma once

#include "comm/mpi/session.h"

namespace voltpile {

// Measures the ring and all pairs. Collective. Rank 0 prints each step to stdout for take_in(). An alarm ends
// the process after a time that no healthy network needs, so that nothing stays behind on a host that became
// unreachable.
void run_link_probe(const MpiSession& mpi, double seconds_per_pair);

}  // namespace voltpile
