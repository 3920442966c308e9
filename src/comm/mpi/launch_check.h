// Detects that the launcher of another MPI started the program (MPICH's mpiexec, plain srun, ...). MPI would
// fail with an obscure message, or start every process as rank 0 of 1, and all of them would do the whole
// job.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "comm/mpi/library.h"

namespace voltpile {

// How this process was started, from its environment and its ancestors.
struct Launch {
    std::string launcher;    // "mpirun of Open MPI", "MPICH's mpiexec", "srun"; empty: by hand
    int size = 0;            // the number of processes it reports; 0: it does not report one
    bool over_pmix = false;  // Open MPI can find the others
    bool over_pmi = false;   // only an MPI that speaks PMI-1 or PMI-2 can
    bool over_flux = false;
    bool slurm_step = false;
};

// environment: by name. ancestors: the names of the programs above this process, the nearest first.
Launch read_launch(const std::map<std::string, std::string>& environment,
                   const std::vector<std::string>& ancestors);

// Returns why processes started like this would not find each other; empty if they would.
std::string launch_problem(const Launch& launch, const MpiLibrary& library);

// Returns the same once MPI has started and found `size` ranks.
std::string size_problem(const Launch& launch, const MpiLibrary& library, int size);

// Tells Open MPI that this process has no launcher and needs none. Otherwise it would start a daemon, which
// only MPI_Comm_spawn needs, and make folders for its session. All such processes share the parent of these,
// so that one that ends can remove it while another one starts and then fails. It would also look for network
// adapters, which takes a quarter of a second.
void set_up_alone();

// Call it before MPI starts. Throws MachineError on all processes alike, so only rank 0 should print it. Open
// MPI refuses a single process in a Slurm step without PMIx, though it needs no other; such a process is
// treated as started by hand.
void check_launcher();

// Call it right after MPI has started. Throws MachineError as above.
void check_world_size(int size);

}  // namespace voltpile
