// Servers by the status files beside their address files, for `voltpile list`.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "run/server_status.h"

namespace voltpile {

struct FoundServer {
    std::filesystem::path address_file;
    ServerStatus status;
};

// Returns the server whose status file is `path`, or nothing if it is no such file or can't be read. A server
// that was killed has left its files.
std::optional<FoundServer> server_of_file(const std::filesystem::path& path);

// Returns a table for the terminal, one line per server; nothing if there are none.
std::string server_table(const std::vector<FoundServer>& servers);

}  // namespace voltpile
