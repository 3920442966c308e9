// Launchers (mpirun, srun) as seen by the processes that they start.
#pragma once

#include <optional>

namespace voltpile::cli {

// Returns the rank of this process from the environment that its launcher sets, before MPI starts; nothing
// without a launcher.
std::optional<int> launcher_rank();

// Flushes stdout and lets the launcher forward it, so that it appears before what is written to stderr next:
// launchers forward the two streams separately.
void settle_stdout();

}  // namespace voltpile::cli
