#include "cli/command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/host_name.h"
#include "cli/process_rank.h"
#include "machine/node_check.h"
#include "machine/probe.h"
#include "machine/settings_record.h"

namespace voltpile::cli {
namespace {

// Restores the GPUs' limits and clocks that a killed run has changed.
std::vector<NodeFinding> restore_gpus() {
    std::vector<NodeFinding> findings;
    const char* const advice = "restore it with nvidia-smi as an administrator, or restart the node";
    try {
        for (const RestoredGpu& gpu : restore_left_settings())
            findings.push_back({gpu.restored ? Health::Ok : Health::Degraded, gpu.text,
                                gpu.restored ? "nothing to do" : advice});
    } catch (const Error& error) {
        findings.push_back({Health::Degraded, error.what(), advice});
    }
    return findings;
}

// A node's report: {"node": ..., "verdict": "degraded", "gpus": 4, "findings": [{"health", "text",
// "advice"}]}.
nlohmann::json check_this_node(const std::string& sys) {
    const std::vector<NodeFinding> restored = restore_gpus();
    const NodeGpus gpus = probe_gpus();
    std::vector<NodeFinding> findings = check_node(gpus, sys);
    findings.insert(findings.end(), restored.begin(), restored.end());
    nlohmann::json report{
        {"node", host_name()}, {"verdict", name_of(verdict(findings))}, {"driver", gpus.driver_version}};
    report["gpus"] = nlohmann::json::array();
    for (const GpuSnapshot& gpu : gpus.gpus)
        report["gpus"].push_back({{"bus_id", gpu.bus_id}, {"name", gpu.name}});
    report["findings"] = nlohmann::json::array();
    for (const NodeFinding& finding : findings)
        report["findings"].push_back(
            {{"health", name_of(finding.health)}, {"text", finding.text}, {"advice", finding.advice}});
    return report;
}

// "4x Tesla V100-SXM2-16GB"
std::string gpus_text(const nlohmann::json& report) {
    std::map<std::string, int> count;
    for (const nlohmann::json& gpu : report["gpus"])
        if (const std::string name = gpu["name"]; !name.empty()) ++count[name];
    std::string text;
    for (const auto& [name, number] : count)
        text += fmt::format("{}{}x {}", text.empty() ? "" : ", ", number, name);
    return text.empty() ? "no GPUs" : text;
}

void print_report(const nlohmann::json& report) {
    fmt::print("{}: {} ({})\n", report["node"].get<std::string>(), report["verdict"].get<std::string>(),
               gpus_text(report));
    for (const nlohmann::json& finding : report["findings"])
        fmt::print("  {}: {}\n      {}\n", finding["health"].get<std::string>(),
                   finding["text"].get<std::string>(), finding["advice"].get<std::string>());
}

// Versions must agree: NCCL and CUDA mix them badly.
void compare_drivers(std::vector<nlohmann::json>& reports) {
    std::set<std::string> versions;
    for (const nlohmann::json& report : reports)
        if (const std::string version = report["driver"]; !version.empty()) versions.insert(version);
    if (versions.size() < 2) return;
    for (nlohmann::json& report : reports) {
        if (report["driver"].get<std::string>().empty()) continue;
        report["findings"].push_back({{"health", "degraded"},
                                      {"text", "NVIDIA driver " + report["driver"].get<std::string>() +
                                                   "; other nodes have another version"},
                                      {"advice", "install one version on all nodes"}});
        if (report["verdict"].get<std::string>() == "ok") report["verdict"] = "degraded";
    }
}

ExitCode print_reports(std::vector<nlohmann::json> reports, bool as_json) {
    compare_drivers(reports);
    if (as_json)
        fmt::print("{}\n",
                   nlohmann::json(reports).dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
    else
        std::ranges::for_each(reports, print_report);
    const bool bad = std::ranges::any_of(
        reports, [](const nlohmann::json& report) { return report["verdict"].get<std::string>() == "bad"; });
    return bad ? ExitCode::CannotRun : ExitCode::Done;
}

// The first rank of each node checks it.
ExitCode check_all_nodes(const Communicator& world, const std::string& sys, bool as_json) {
    const std::vector<std::string> hosts = world.all_gather(host_name());
    const bool first = std::ranges::find(hosts, host_name()) - hosts.begin() == world.rank();
    std::vector<nlohmann::json> reports;
    for (const std::string& text : world.all_gather(first ? check_this_node(sys).dump() : std::string()))
        if (!text.empty()) reports.push_back(nlohmann::json::parse(text));
    ExitCode code = ExitCode::Done;
    if (world.rank() == 0) code = print_reports(reports, as_json);
    return static_cast<ExitCode>(std::stoi(world.broadcast(std::to_string(static_cast<int>(code)), 0)));
}

struct CheckArguments {
    bool as_json = false;
    std::string sys = "/sys";
};

}  // namespace

void add_check(CLI::App& cli, Action& action) {
    CLI::App* check =
        cli.add_subcommand("check", "say what is wrong with this node, or under mpirun with all nodes");
    check->footer(
        "examples:\n"
        "  voltpile check\n"
        "  mpirun --hostfile HOSTS --map-by ppr:1:node voltpile check\n"
        "  voltpile check --json\n\n"
        "A node is ok, degraded (jobs run, but slower or at risk) or bad (exit code 3). slurm/health.sh is "
        "for\n"
        "Slurm's HealthCheckProgram and Prolog.");
    auto arguments = std::make_shared<CheckArguments>();
    check->add_flag("--json", arguments->as_json, "print the reports as JSON");
    check->add_option("--sys", arguments->sys, "read PCI devices and modules from this copy of /sys")
        ->type_name("FOLDER")
        ->check(CLI::ExistingDirectory)
        ->capture_default_str();
    check->callback([arguments, &action] {
        action = [arguments](const Invocation& invocation) {
            if (!launcher_rank())  // without MPI, which may need the drivers that this checks
                return print_reports(std::vector<nlohmann::json>(1, check_this_node(arguments->sys)),
                                     arguments->as_json);
            return with_mpi(invocation, [&](const MpiSession& mpi) {
                return check_all_nodes(mpi.world(), arguments->sys, arguments->as_json);
            });
        };
    });
}

}  // namespace voltpile::cli
