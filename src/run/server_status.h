// What a running server says about itself in a small file beside its address, for people who can see the file
// but not the network: a login node, say. Renewed every few seconds.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace voltpile {

struct ServerStatus {
    std::string address;  // "http://node1:8000"
    std::string host;     // of the process that listens
    int process = 0;
    bool draining = false;  // it takes no more requests and ends soon
    int running = 0;        // requests
    int waiting = 0;
    double tokens_per_s = 0;     // generated, since the file was written the last time
    std::int64_t answered = 0;   // requests since its start
    std::int64_t unix_time = 0;  // when the file was written

    double age_s() const;  // since then, never below 0

    bool operator==(const ServerStatus&) const = default;
};

// How often a server renews its file.
inline constexpr double kServerStatusPeriod_s = 2;

// "results/llama.address": "results/llama.address.json"
std::filesystem::path server_status_path(const std::filesystem::path& address_file);

// Replaces the file whole, so that a reader never sees half of it. Throws FileError.
void write_server_status(const std::filesystem::path& path, const ServerStatus& status);

// Returns nothing if there is no such file, or if it is not what a server writes.
std::optional<ServerStatus> read_server_status(const std::filesystem::path& path);

// Returns the address file of a job's server that a file names: `named`, or, for the result file that a job
// of this name would have ("results/llama.h5") and for the server's telemetry, the usual one, whichever has a
// status file.
std::filesystem::path find_address_file(const std::filesystem::path& named);

// Reads the status of the server that a file names, see find_address_file().
std::optional<ServerStatus> find_server_status(const std::filesystem::path& named);

// Where a server keeps its telemetry: "results/llama.address": "results/llama.telemetry.h5".
std::filesystem::path telemetry_log_file(const std::filesystem::path& address_file);

// The folder and ending of a job's address file: "results/llama.address".
std::filesystem::path usual_address_file(const std::string& job_name);

}  // namespace voltpile
