// What a running server shows of itself for `voltpile top`: its load (run/server_status.h), and beside its
// address file a file for each node that sees the folder.
#pragma once

#include <filesystem>
#include <string>

#include "run/live_status.h"

namespace voltpile {

// Replaces the file of a node whole: "results/lab.address.node-node1.json". Throws FileError.
void write_server_node(const std::filesystem::path& address_file, const LiveNode& node);

// Removes the file of a node, if there is one.
void remove_server_node(const std::filesystem::path& address_file, const std::string& host);

// Reads what a server shows. named: its address file, or the result file that a job of this name would have.
// Leaves out nodes that were silent for a minute while the server was not: they are of an earlier server.
// Empty if there is no server.
LiveStatus read_live_server(const std::filesystem::path& named);

}  // namespace voltpile
