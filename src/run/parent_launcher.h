// Finds the program that started this rank (mpirun, orted) among its ancestors in /proc.
#pragma once

#include <optional>
#include <string>

namespace voltpile {

struct Launcher {
    int pid = 0;
    std::string name;  // "mpirun", "orted", ...
};

// Returns nothing for a program started by hand, by a batch shell or by srun.
std::optional<Launcher> find_launcher();

// Returns the columns of the terminal that shows this process's stderr, 0 if there is none. Under mpirun,
// stderr is a pipe to mpirun, so mpirun's own stderr counts.
int terminal_columns();

}  // namespace voltpile
