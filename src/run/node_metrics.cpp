#include "run/node_metrics.h"

#include <fmt/format.h>

#include "http/metric_writer.h"

namespace voltpile {
namespace {

// Escapes a label's value: hosts and drivers may have any name.
std::string label_text(const std::string& text) {
    std::string out;
    for (const char c : text) {
        if (c == '\n') {
            out += "\\n";
            continue;
        }
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    return out;
}

const char* type_of(const GpuNumber& number) {
    const std::string_view name = number.name;
    const bool bytes_moved = name.ends_with("_bytes") && !name.starts_with("memory_");
    const bool counts =
        bytes_moved || name == "energy_j" || name == "pcie_replays" || name.starts_with("aer_");
    return counts ? "counter" : "gauge";
}

void write_gpus(http::MetricWriter& to, const NodeGpus& gpus) {
    for (const GpuNumber& number : kGpuNumbers) {
        if (number.pace == GpuPace::Setting && number.name != "memory_total_bytes") continue;
        const std::string name = fmt::format("voltpile_gpu_{}", number.name);
        bool begun = false;
        for (const GpuSnapshot& gpu : gpus.gpus) {
            const std::optional<double>& value = gpu.*number.member;
            if (!value) continue;
            if (!begun) to.head(name, type_of(number), fmt::format("Unit: {}.", number.unit));
            begun = true;
            to.line(name,
                    fmt::format(",gpu=\"{}\",name=\"{}\"", label_text(gpu.bus_id), label_text(gpu.name)),
                    *value);
        }
    }
}

void write_ranks(http::MetricWriter& to, const LiveJob& job) {
    if (job.ranks.empty()) return;
    to.gauge("voltpile_job_seconds", "Time since the run began.", job.elapsed_s);
    const auto write = [&](const char* name, const char* help, auto value) {
        to.head(name, "counter", help);
        for (std::size_t rank = 0; rank < job.ranks.size(); ++rank)
            to.line(name, fmt::format(",rank=\"{}\",on=\"{}\"", rank, label_text(job.ranks[rank].host)),
                    value(job.ranks[rank]));
    };
    write("voltpile_rank_points_total", "Points that a rank has committed.",
          [](const LiveRank& rank) { return static_cast<double>(rank.points); });
    write("voltpile_rank_work_total", "Work that a rank has done, in the unit of its job.",
          [](const LiveRank& rank) { return rank.units; });
    write("voltpile_rank_busy_seconds_total", "Time in which a rank's processor computed.",
          [](const LiveRank& rank) { return rank.busy_s; });
}

}  // namespace

std::string node_metrics(const LiveNode& node, const LiveJob& job) {
    std::string out;
    const std::string labels = fmt::format("host=\"{}\"", label_text(node.host));
    http::MetricWriter to(out, labels);
    for (const HostNumber& number : kHostNumbers) {
        const std::string_view name = number.name;
        if (const std::optional<double>& value = node.sample.host.*number.member)
            to.gauge(fmt::format("voltpile_{}{}", name.starts_with("host_") ? "" : "host_", name),
                     fmt::format("Unit: {}.", number.unit), *value);
    }
    to.gauge("voltpile_gpus_known", "1 if the driver answers.", node.sample.gpus.problem.empty());
    write_gpus(to, node.sample.gpus);
    write_ranks(to, job);
    return out;
}

}  // namespace voltpile
