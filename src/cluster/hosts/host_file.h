// The nodes of an ad-hoc cluster: Open MPI's host file (`mpirun --hostfile`) or host list (`mpirun --host`).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace voltpile {

struct HostEntry {
    std::string name;   // as ssh shall reach it
    std::string user;   // of "user@name"; empty: whoever calls
    int slots = 0;      // ranks it may get; 0: not said
    int max_slots = 0;  // 0: not said
    int line = 0;       // of the file; 0: from a list
};

// One host a line: `name [slots=N] [max_slots=M]`, # begins a comment. Throws JobError with all that is
// wrong, a line each: `file:line: message`.
std::vector<HostEntry> load_host_file(const std::string& path);
std::vector<HostEntry> parse_host_file(std::string_view text, const std::string& path);

// "node1:2,node2". Throws JobError.
std::vector<HostEntry> parse_host_list(std::string_view list);

}  // namespace voltpile
