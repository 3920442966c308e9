// The hosts of an ad-hoc cluster: Open MPI's host file (`mpirun --hostfile`) or host list (`mpirun --host`).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace voltpile {

struct HostEntry {
    std::string name;   // name or address for ssh
    std::string user;   // from "user@name"; empty: the caller
    int slots = 0;      // ranks that it may run; 0: not given
    int max_slots = 0;  // 0: not given
    int line = 0;       // line of the file; 0: from a list
};

// Read one host per line: `name [slots=N] [max_slots=M]`; # starts a comment. Throw JobError with all
// problems, one `file:line: message` per line. load_host_file() throws FileError if it cannot read the file.
std::vector<HostEntry> load_host_file(const std::string& path);
std::vector<HostEntry> parse_host_file(std::string_view text, const std::string& path);

// Parses a list such as "node1:2,node2". Throws JobError.
std::vector<HostEntry> parse_host_list(std::string_view list);

}  // namespace voltpile
