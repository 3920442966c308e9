// What each rank does that `voltpile hosts` has started by mpirun (cluster/hosts/links).
#pragma once

#include "comm/mpi/session.h"

namespace voltpile {

// Collective: every rank calls. Measures ring and pairs; rank 0 says each step on stdout as it is done. Ends
// the process by itself after a time that no sound network needs, so that nothing stays behind on a host that
// nobody can reach any more.
void run_link_probe(const MpiSession& mpi, double seconds_per_pair);

}  // namespace voltpile
