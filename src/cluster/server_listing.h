// Which servers have their address files under a folder, for `voltpile list`.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "run/server_status.h"

namespace voltpile {

struct FoundServer {
    std::filesystem::path address_file;
    ServerStatus status;
};

// Returns the servers whose status files are in `folder` or a folder below it, sorted by path. Skips hidden
// folders, symbolic links and what it may not read. A server that was killed has left its files.
std::vector<FoundServer> find_servers(const std::filesystem::path& folder);

// Returns a table for the terminal, one line per server; nothing if there are none.
std::string server_table(const std::vector<FoundServer>& servers);

}  // namespace voltpile
