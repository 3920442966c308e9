// Reads the machine: hosts, cores, GPUs, and the place of each rank.
#pragma once

#include "comm/mpi/communicator.h"
#include "plan/topology.h"

namespace voltpile {

// Collective: every rank calls, and all get the same topology.
//
// A rank may use the cores of its own affinity mask. Open MPI's mpirun binds each rank to a core or socket by
// default. Unless the user requested that (--bind-to), the mask of mpirun itself, or of its daemon on that
// node, counts: it is what the batch system or the user gave to the whole job.
Topology discover_topology(const Communicator& world);

// Reads this host as this process sees it, without MPI.
Host read_this_host();

}  // namespace voltpile
