// mpirun and its like, as the processes that they start see them.
#pragma once

#include <optional>

namespace voltpile::cli {

// This process's number, as its launcher tells it before MPI has started; nothing if there is none.
std::optional<int> launcher_rank();

// For what stdout has to come before what is written to stderr next: launchers carry the two apart.
void settle_stdout();

}  // namespace voltpile::cli
