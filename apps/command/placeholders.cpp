#include "command/placeholders.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <filesystem>

#include "command/meeting_place.h"

namespace voltpile::command {
namespace {

std::string absolute_text(const std::filesystem::path& path) {
    return std::filesystem::absolute(path).lexically_normal().string();
}

template <class Act>
void each_axis_value(const JobSpec& job, std::int64_t point, const Act& act) {
    for (const SweepAxis& axis : job.axes()) {
        act(axis.name, axis.value(point % axis.count));
        point /= axis.count;
    }
}

}  // namespace

std::vector<std::string> common_names() {
    return {"point", "job_folder", "result", "folder", "gpus", "gpu_count", "cores", "core_count", "nic"};
}

std::vector<std::string> instance_names() {
    return {"rank", "world_size", "local_rank", "local_size",     "node_rank",  "nodes",
            "host", "hosts",      "interface",  "master_address", "master_port"};
}

TemplateValues sample_values(const JobSpec& job) {
    TemplateValues values;
    std::vector<std::string> names = common_names();
    if (job.axes().empty())
        for (std::string& name : instance_names()) names.push_back(std::move(name));
    for (const std::string& name : names) values[name] = std::string("sample");
    for (const char* const name : {"point", "gpu_count", "core_count", "rank", "world_size", "local_rank",
                                   "local_size", "node_rank", "nodes", "master_port"})
        if (values.contains(name)) values[name] = std::int64_t{1};
    each_axis_value(job, 0, [&](const std::string& name, double value) { values[name] = value; });
    return values;
}

std::string axes_text(const JobSpec& job, std::int64_t point) {
    std::vector<std::string> texts;
    each_axis_value(job, point, [&](const std::string& name, double value) {
        texts.push_back(fmt::format("{} = {}", name, value));
    });
    return fmt::format("{}", fmt::join(texts, ", "));
}

std::string job_folder(const JobSpec& job) {
    const std::string folder = std::filesystem::path(absolute_text(job.path())).parent_path().string();
    return folder.empty() ? "/" : folder;
}

TemplateValues values_of(const JobSpec& job, const Resources& resources, const std::filesystem::path& result,
                         std::int64_t point) {
    TemplateValues values;
    values["point"] = point;
    values["job_folder"] = job_folder(job);
    values["result"] = absolute_text(result);
    values["cores"] = fmt::format("{}", fmt::join(resources.pus, ","));
    values["core_count"] = std::ssize(resources.pus);
    values["gpus"] = fmt::format("{}", fmt::join(resources.gpus, ","));
    values["gpu_count"] = std::ssize(resources.gpus);
    values["nic"] = resources.nic;
    each_axis_value(job, point, [&](const std::string& name, double value) { values[name] = value; });
    return values;
}

void add_instance_values(TemplateValues& values, const JobSpec& job, const Plan& plan, int rank,
                         const MeetingPlace& meeting) {
    const RankPlan& mine = plan.ranks[static_cast<std::size_t>(rank)];
    std::int64_t local_rank = 0, local_size = 0;
    for (std::size_t other = 0; other < plan.ranks.size(); ++other) {
        if (plan.ranks[other].node != mine.node) continue;
        ++local_size;
        if (static_cast<int>(other) < rank) ++local_rank;
    }
    std::vector<std::string> hosts;
    for (const Host& host : plan.topology.hosts) hosts.push_back(host.name);
    values["rank"] = std::int64_t{rank};
    values["world_size"] = std::ssize(plan.ranks);
    values["local_rank"] = local_rank;
    values["local_size"] = local_size;
    values["node_rank"] = std::int64_t{mine.node};
    values["nodes"] = std::ssize(plan.nodes);
    values["host"] = plan.host_of(mine).name;
    values["hosts"] = fmt::format("{}", fmt::join(hosts, ","));
    values["interface"] =
        plan.topology.hosts.size() == 1 ? "lo" : network_of_this_host(job.text("cluster.network")).interface;
    values["master_address"] = meeting.address;
    values["master_port"] = meeting.port;
}

}  // namespace voltpile::command
