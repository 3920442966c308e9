#include "run/live_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <string_view>
#include <system_error>

#include "base/error.h"
#include "base/file_text.h"
#include "base/format.h"
#include "machine/node_json.h"
#include "run/server_status.h"

namespace voltpile {
namespace {

namespace fs = std::filesystem;

constexpr double kSilent_s = 60;
constexpr std::string_view kEnding = ".json";

fs::path file_of_node(const fs::path& address_file, const std::string& host) {
    return fmt::format("{}.node-{}{}", address_file.string(), host, kEnding);
}

std::string line_of(const fs::path& address_file, const ServerStatus& server) {
    return fmt::format("{} at {}{}  {} running  {} waiting  {:.3g} tokens/s  {} answered",
                       address_file.stem().string(), server.address, server.draining ? ", stopping" : "",
                       server.running, server.waiting, server.tokens_per_s, count_text(server.answered));
}

}  // namespace

void write_server_node(const fs::path& address_file, const LiveNode& node) {
    const fs::path path = file_of_node(address_file, node.host);
    const std::string unfinished = path.string() + ".part";
    std::ofstream file(unfinished);
    file << to_json(node.sample) << "\n";
    file.close();
    if (!file) throw FileError("write", unfinished, errno);
    if (std::rename(unfinished.c_str(), path.c_str()) != 0) throw FileError("write", path.string(), errno);
}

void remove_server_node(const fs::path& address_file, const std::string& host) {
    std::error_code error;  // others may remove it, too
    fs::remove(file_of_node(address_file, host), error);
}

LiveStatus read_live_server(const fs::path& named) {
    const fs::path address_file = find_address_file(named);
    const auto server = read_server_status(server_status_path(address_file));
    LiveStatus status;
    if (!server) return status;
    LiveJob& job = status.jobs.emplace_back();
    job.line = line_of(address_file, *server);
    job.time_s = static_cast<double>(server->unix_time);
    const std::string prefix = fmt::format("{}.node-", address_file.filename().string());
    const fs::path folder = address_file.has_parent_path() ? address_file.parent_path() : fs::path(".");
    std::error_code error;
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
        const std::string name = it->path().filename();
        if (!name.starts_with(prefix) || !name.ends_with(kEnding)) continue;
        try {
            LiveNode node{name.substr(prefix.size(), name.size() - prefix.size() - kEnding.size()),
                          sample_from_json(file_text(it->path()))};
            if (node.sample.time_s > job.time_s - kSilent_s) status.nodes.push_back(std::move(node));
        } catch (const MachineError&) {
            continue;  // a server that ends removes it at any moment
        }
    }
    std::ranges::sort(status.nodes, {}, &LiveNode::host);
    return status;
}

}  // namespace voltpile
