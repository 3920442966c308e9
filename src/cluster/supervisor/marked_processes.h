// The processes of one launch on this host, whoever started them: all carry its mark, 16 hexadecimal digits,
// in their environment or, as Open MPI's daemons do, on their command line.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

namespace voltpile {

// The environment variable with the mark. Programs pass it on to what they start.
inline constexpr const char* kLaunchMark = "VOLTPILE_LAUNCH";
// The same as a parameter of Open MPI, which mpirun repeats on the command line of its daemons.
inline constexpr const char* kLaunchMarkParameter = "OMPI_MCA_voltpile_launch";

struct MarkedProcess {
    pid_t pid = 0;
    std::string name;  // "voltpile": at most 15 characters
};

// Returns the processes with this mark except the calling one. Processes of other users do not show their
// environment.
std::vector<MarkedProcess> find_marked(const std::string& mark);

// Ends them with SIGTERM and, after `grace`, with SIGKILL, until there are none. Returns those that are left
// two seconds later: they hang in the kernel.
std::vector<MarkedProcess> end_marked(const std::string& mark, std::chrono::milliseconds grace);

}  // namespace voltpile
