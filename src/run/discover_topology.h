// Reads the machine: hosts, cores, GPUs, and where each rank stands.
#pragma once

#include "comm/mpi/communicator.h"
#include "plan/topology.h"

namespace voltpile {

// Collective: every rank calls; all get the same.
//
// A rank may use the cores of its own affinity mask. Open MPI's mpirun binds each rank to a core or socket of
// its own accord, though nobody asked for it; unless the user did (--bind-to), the mask of mpirun itself (or
// of its daemon on that node) counts, which is what the batch system or the user has given to the job as a
// whole.
Topology discover_topology(const Communicator& world);

}  // namespace voltpile
