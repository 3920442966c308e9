#include "health/node_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <utility>

#include "base/build_info.h"
#include "base/host_name.h"
#include "comm/collective/nccl_communicator.h"
#include "health/figure_json.h"
#include "health/judge_figures.h"

namespace voltpile {
namespace {

using nlohmann::json;

template <class Range>
void append(Range& to, const Range& more) {
    to.insert(to.end(), more.begin(), more.end());
}

// NCCL and CUDA mix versions badly.
void compare_versions(std::vector<NodeReport>& reports) {
    std::map<std::string, std::set<std::string>> versions;
    for (const NodeReport& report : reports)
        for (const auto& [name, version] : report.versions)
            if (!version.empty()) versions[name].insert(version);
    for (NodeReport& report : reports)
        for (const auto& [name, version] : report.versions)
            if (!version.empty() && versions[name].size() > 1)
                report.findings.push_back(
                    {Health::Degraded, fmt::format("{} {}; other nodes have another version", name, version),
                     "install one version on all nodes"});
}

std::string cuda_text(int version) {
    return version > 0 ? fmt::format("{}.{}", version / 1000, version % 1000 / 10) : "";
}

Health health_named(const std::string& name) {
    for (const Health health : {Health::Ok, Health::Degraded})
        if (name == name_of(health)) return health;
    return Health::Bad;
}

// "4x Tesla V100-SXM2-16GB"
std::string gpus_text(const NodeReport& report) {
    std::map<std::string, int> count;
    for (const NodeReport::ReportedGpu& gpu : report.gpus)
        if (!gpu.name.empty()) ++count[gpu.name];
    std::string text;
    for (const auto& [name, number] : count)
        text += fmt::format("{}{}x {}", text.empty() ? "" : ", ", number, name);
    if (!text.empty()) return text;
    return report.gpus.empty() ? "no GPUs" : fmt::format("{}x a GPU without a name", report.gpus.size());
}

}  // namespace

void NodeReport::add(const NodeFigures& measured) {
    append(findings, measured.findings);
    append(figures, measured.figures);
    append(not_measured, measured.not_measured);
}

NodeReport make_report(const NodeGpus& gpus, std::vector<NodeFinding> findings) {
    NodeReport report;
    report.node = host_name();
    report.driver = gpus.driver_version;
    const BuildInfo build = build_info();
    report.versions = {{"NVIDIA driver", gpus.driver_version},
                       {"CUDA of the driver", cuda_text(gpus.cuda_version)},
                       {"NCCL", nccl_version()},
                       {"Voltpile", fmt::format("{} ({})", build.version, build.git_revision)}};
    for (const GpuSnapshot& gpu : gpus.gpus) report.gpus.push_back({gpu.bus_id, gpu.name});
    report.findings = std::move(findings);
    return report;
}

void compare_nodes(std::vector<NodeReport>& reports) {
    compare_versions(reports);
    std::vector<std::vector<Figure>> figures;
    for (const NodeReport& report : reports) figures.push_back(report.figures);
    const auto findings = judge_figures(figures);
    for (std::size_t node = 0; node < reports.size(); ++node) append(reports[node].findings, findings[node]);
}

json report_json(const NodeReport& report) {
    json object{{"node", report.node},      {"verdict", name_of(verdict(report.findings))},
                {"driver", report.driver},  {"versions", report.versions},
                {"gpus", json::array()},    {"findings", json::array()},
                {"figures", json::array()}, {"not_measured", report.not_measured}};
    for (const NodeReport::ReportedGpu& gpu : report.gpus)
        object["gpus"].push_back({{"bus_id", gpu.bus_id}, {"name", gpu.name}});
    for (const NodeFinding& finding : report.findings)
        object["findings"].push_back(
            {{"health", name_of(finding.health)}, {"text", finding.text}, {"advice", finding.advice}});
    for (const Figure& figure : report.figures) object["figures"].push_back(figure_json(figure));
    if (report.clock)
        object["clock"] = {{"offset_s", report.clock->offset_s},
                           {"uncertainty_s", report.clock->uncertainty_s}};
    return object;
}

NodeReport report_from(const json& object) {
    NodeReport report;
    report.node = object.at("node");
    report.driver = object.at("driver");
    report.versions = object.at("versions").get<std::map<std::string, std::string>>();
    for (const json& gpu : object.at("gpus")) report.gpus.push_back({gpu.at("bus_id"), gpu.at("name")});
    for (const json& finding : object.at("findings"))
        report.findings.push_back(
            {health_named(finding.at("health")), finding.at("text"), finding.at("advice")});
    for (const json& figure : object.at("figures")) report.figures.push_back(figure_from(figure));
    report.not_measured = object.at("not_measured").get<std::vector<std::string>>();
    if (object.contains("clock"))
        report.clock = {object["clock"].at("offset_s"), object["clock"].at("uncertainty_s")};
    return report;
}

std::string report_text(const NodeReport& report) {
    std::string text =
        fmt::format("{}: {} ({})\n", report.node, name_of(verdict(report.findings)), gpus_text(report));
    for (const NodeFinding& finding : report.findings)
        text += fmt::format("  {}: {}\n      {}\n", name_of(finding.health), finding.text, finding.advice);
    std::istringstream lines(figures_text(report.figures));
    for (std::string line; std::getline(lines, line);) text += "  " + line + "\n";
    for (const std::string& what : report.not_measured) text += "  not measured: " + what + "\n";
    return text;
}

}  // namespace voltpile
