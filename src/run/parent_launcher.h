// The program that started this rank (mpirun, orted), found among its ancestors in /proc.
#pragma once

#include <optional>
#include <string>

namespace voltpile {

struct Launcher {
    int pid = 0;
    std::string name;  // "mpirun", "orted", ...
};

// Nothing when started by hand, by a batch shell or by srun.
std::optional<Launcher> find_launcher();

// Columns of the terminal on which what this process writes to stderr ends; 0 if that is none. Under mpirun
// its own stderr is a pipe to mpirun, so mpirun's is looked at.
int terminal_columns();

}  // namespace voltpile
