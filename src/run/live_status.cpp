#include "run/live_status.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string_view>

#include "base/error.h"
#include "base/file_text.h"
#include "machine/node_json.h"
#include "results/parts/part_folder.h"

namespace voltpile {
namespace {

using nlohmann::json;

constexpr const char* kJobFile = "job.json";
constexpr std::string_view kNodePrefix = "node-", kNodeEnding = ".json";

void replace_file(const Life& life, const std::string& name, const std::string& text) {
    write_in(life, life.folder() / name, std::as_bytes(std::span(text)), Flush::Later);
}

std::optional<LiveJob> read_job_file(const std::filesystem::path& path) {
    try {
        const json from = json::parse(file_text(path));
        LiveJob job{from.at("line"), from.at("time_s"), from.at("elapsed_s"), {}};
        job.addresses = from.value("addresses", job.addresses);
        for (const json& rank : from.at("ranks"))
            job.ranks.push_back({rank.at("host"), rank.at("processor"), rank.at("points"), rank.at("units"),
                                 rank.at("busy_s")});
        return job;
    } catch (const json::exception&) {
        return std::nullopt;
    }
}

void read_life(const std::filesystem::path& folder, LiveStatus& status) {
    std::error_code error;
    for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end;
         it.increment(error)) {
        const std::string name = it->path().filename();
        if (name == kJobFile) {
            if (auto job = read_job_file(it->path())) status.jobs.push_back(std::move(*job));
        } else if (name.starts_with(kNodePrefix) && name.ends_with(kNodeEnding)) {
            try {
                status.nodes.push_back(
                    {name.substr(kNodePrefix.size(), name.size() - kNodePrefix.size() - kNodeEnding.size()),
                     sample_from_json(file_text(it->path()))});
            } catch (const MachineError&) {
                continue;  // a run that ends removes it at any moment
            }
        }
    }
}

}  // namespace

void write_live_job(const Life& life, const LiveJob& job) {
    json to{{"line", job.line},
            {"time_s", job.time_s},
            {"elapsed_s", job.elapsed_s},
            {"addresses", job.addresses}};
    to["ranks"] = json::array();
    for (const LiveRank& rank : job.ranks)
        to["ranks"].push_back({{"host", rank.host},
                               {"processor", rank.processor},
                               {"points", rank.points},
                               {"units", rank.units},
                               {"busy_s", rank.busy_s}});
    replace_file(life, kJobFile, to.dump(-1, ' ', false, json::error_handler_t::replace));
}

void write_live_node(const Life& life, const LiveNode& node) {
    replace_file(life, std::string(kNodePrefix) + node.host + std::string(kNodeEnding), to_json(node.sample));
}

LiveStatus read_live_status(const std::filesystem::path& result) {
    LiveStatus status;
    const std::filesystem::path parts = parts_path(result);
    std::error_code error;
    if (!std::filesystem::is_directory(parts, error)) return status;
    for (const LifeName& life : list_lives(parts)) read_life(parts / life.text(), status);
    std::ranges::sort(status.nodes, {}, &LiveNode::host);
    return status;
}

}  // namespace voltpile
