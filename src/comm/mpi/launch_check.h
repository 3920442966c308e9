// Names the mistake of starting the program by the launcher of another MPI (MPICH's mpiexec, plain srun,
// ...): MPI would either refuse in words that help nobody, or start every process alone, as rank 0 of 1, and
// all of them would do the whole job.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "comm/mpi/library.h"

namespace voltpile {

// What the environment and the ancestors of a process tell of how it was started.
struct Launch {
    std::string launcher;    // "mpirun of Open MPI", "MPICH's mpiexec", "srun"; empty: by hand
    int size = 0;            // processes it says it has started; 0: it does not say
    bool over_pmix = false;  // Open MPI can find the others
    bool over_pmi = false;   // only an MPI that speaks PMI-1 or PMI-2 can
    bool over_flux = false;
    bool slurm_step = false;
};

// environment: by name. ancestors: the names of the programs above this process, the nearest first.
Launch read_launch(const std::map<std::string, std::string>& environment,
                   const std::vector<std::string>& ancestors);

// Why processes started like this would not find each other; empty if they would.
std::string launch_problem(const Launch& launch, const MpiLibrary& library);

// The same once MPI has started and found `size` ranks.
std::string size_problem(const Launch& launch, const MpiLibrary& library, int size);

// Call before MPI starts. Throws MachineError: all processes alike, so that only that of rank 0 should print.
// A single process in a Slurm step without PMIx, which Open MPI refuses though it needs nobody, is made one
// that was started by hand.
void check_launcher();

// Call right after MPI has started. Throws MachineError as above.
void check_world_size(int size);

}  // namespace voltpile
