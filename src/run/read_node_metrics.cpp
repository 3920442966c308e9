#include "run/read_node_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/format.h"

namespace voltpile {
namespace {

struct MetricLine {
    std::string name;
    std::map<std::string, std::string> labels;
    double value = 0;
};

// Reads NAME{LABEL="VALUE",...} NUMBER; a backslash escapes what follows it in a value.
std::optional<MetricLine> metric_in(const std::string& line) {
    const std::size_t brace = line.find('{');
    if (line.starts_with('#') || brace == line.npos) return std::nullopt;
    MetricLine metric{line.substr(0, brace), {}, 0};
    std::size_t at = brace + 1;
    while (at < line.size() && line[at] != '}') {
        const std::size_t equals = line.find("=\"", at);
        if (equals == line.npos) return std::nullopt;
        std::string& value = metric.labels[line.substr(at, equals - at)];
        for (at = equals + 2; at < line.size() && line[at] != '"'; ++at) {
            const bool escaped = line[at] == '\\' && at + 1 < line.size();
            if (escaped) ++at;
            value += escaped && line[at] == 'n' ? '\n' : line[at];
        }
        ++at;  // the quotation mark
        if (at < line.size() && line[at] == ',') ++at;
    }
    if (at >= line.size()) return std::nullopt;
    metric.value = std::atof(line.c_str() + at + 1);
    return metric;
}

void take_host(const MetricLine& metric, HostReading& host) {
    for (const HostNumber& number : kHostNumbers)
        if (metric.name.ends_with(number.name)) host.*number.member = metric.value;
}

void take_gpu(const MetricLine& metric, NodeGpus& node) {
    constexpr std::string_view prefix = "voltpile_gpu_";
    const auto bus_id = metric.labels.find("gpu"), name = metric.labels.find("name");
    if (!metric.name.starts_with(prefix) || bus_id == metric.labels.end() || name == metric.labels.end())
        return;
    auto gpu = std::ranges::find(node.gpus, bus_id->second, &GpuSnapshot::bus_id);
    if (gpu == node.gpus.end()) {
        gpu = node.gpus.insert(gpu, GpuSnapshot());
        gpu->bus_id = bus_id->second;
        gpu->name = name->second;
    }
    for (const GpuNumber& number : kGpuNumbers)
        if (metric.name.substr(prefix.size()) == number.name) (*gpu).*number.member = metric.value;
}

void take_rank(const MetricLine& metric, std::map<int, LiveRank>& ranks) {
    const auto number = metric.labels.find("rank"), host = metric.labels.find("on");
    if (number == metric.labels.end() || host == metric.labels.end()) return;
    LiveRank& rank = ranks[std::atoi(number->second.c_str())];
    rank.host = host->second;
    if (metric.name == "voltpile_rank_points_total") rank.points = static_cast<std::int64_t>(metric.value);
    if (metric.name == "voltpile_rank_work_total") rank.units = metric.value;
    if (metric.name == "voltpile_rank_busy_seconds_total") rank.busy_s = metric.value;
}

}  // namespace

NodeMetrics read_node_metrics(const std::string& text) {
    NodeMetrics found;
    std::map<int, LiveRank> ranks;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        const std::optional<MetricLine> metric = metric_in(line);
        if (!metric || !metric->labels.contains("host")) continue;
        if (metric->name == "voltpile_gpus_known") found.node.host = metric->labels.at("host");
        if (metric->name.starts_with("voltpile_host_")) take_host(*metric, found.node.sample.host);
        if (metric->name == "voltpile_job_seconds") found.job.elapsed_s = metric->value;
        take_gpu(*metric, found.node.sample.gpus);
        take_rank(*metric, ranks);
    }
    if (found.node.host.empty())
        throw CommError("these are no metrics of a node that runs a job of voltpile");
    std::int64_t points = 0;
    for (const auto& [number, rank] : ranks) {
        found.job.ranks.push_back(rank);
        points += rank.points;
    }
    if (!ranks.empty())
        found.job.line =
            fmt::format("{} points committed by {} rank{}, elapsed {}", count_text(points), ranks.size(),
                        ranks.size() == 1 ? "" : "s", duration_text(found.job.elapsed_s));
    return found;
}

}  // namespace voltpile
