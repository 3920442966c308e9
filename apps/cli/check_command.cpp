#include "cli/command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/host_name.h"
#include "cli/process_rank.h"
#include "health/measure_node.h"
#include "health/node_report.h"
#include "health/run_measuring.h"
#include "machine/node_check.h"
#include "machine/probe.h"
#include "machine/settings_record.h"

namespace voltpile::cli {
namespace {

struct CheckArguments {
    bool as_json = false;
    bool measure = false;
    std::string sys = "/sys";
    bool measuring = false;  // internal: this is the process that measures
};

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

NodeReport check_this_node(const CheckArguments& arguments) {
    const std::vector<NodeFinding> restored = restore_gpus();
    const NodeGpus gpus = probe_gpus();
    std::vector<NodeFinding> findings = check_node(gpus, arguments.sys);
    findings.insert(findings.end(), restored.begin(), restored.end());
    NodeReport report = make_report(gpus, std::move(findings));
    if (arguments.measure && gpus.hung)  // CUDA would hang as well
        report.not_measured.push_back("anything: " + gpus.problem);
    else if (arguments.measure)
        report.add(measure_node({std::filesystem::read_symlink("/proc/self/exe"), "check", "--measuring"}));
    return report;
}

ExitCode print_reports(std::vector<NodeReport> reports, bool as_json) {
    compare_nodes(reports);
    nlohmann::json all = nlohmann::json::array();
    for (const NodeReport& report : reports) {
        if (as_json)
            all.push_back(report_json(report));
        else
            fmt::print("{}", report_text(report));
    }
    if (as_json) fmt::print("{}\n", all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
    const bool bad = std::ranges::any_of(
        reports, [](const NodeReport& report) { return verdict(report.findings) == Health::Bad; });
    return bad ? ExitCode::CannotRun : ExitCode::Done;
}

// The first rank of each node checks it.
ExitCode check_all_nodes(const Communicator& world, const CheckArguments& arguments) {
    const std::vector<std::string> hosts = world.all_gather(host_name());
    const bool first = std::ranges::find(hosts, host_name()) - hosts.begin() == world.rank();
    const std::string mine = first ? report_json(check_this_node(arguments))
                                         .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)
                                   : "";
    world.wait_asleep();  // the other ranks leave the cores to what is measured
    std::vector<NodeReport> reports;
    for (const std::string& text : world.all_gather(mine))
        if (!text.empty()) reports.push_back(report_from(nlohmann::json::parse(text)));
    ExitCode code = ExitCode::Done;
    if (world.rank() == 0) code = print_reports(std::move(reports), arguments.as_json);
    return static_cast<ExitCode>(std::stoi(world.broadcast(std::to_string(static_cast<int>(code)), 0)));
}

}  // namespace

void add_check(CLI::App& cli, Action& action) {
    CLI::App* check =
        cli.add_subcommand("check", "say what is wrong with this node, or under mpirun with all nodes");
    check->footer(
        "examples:\n"
        "  voltpile check\n"
        "  voltpile check --measure\n"
        "  mpirun --hostfile HOSTS --map-by ppr:1:node voltpile check --measure\n"
        "  voltpile check --json\n\n"
        "A node is ok, degraded (jobs run, but slower or at risk) or bad (exit code 3). slurm/health.sh is "
        "for\n"
        "Slurm's HealthCheckProgram and Prolog.");
    auto arguments = std::make_shared<CheckArguments>();
    check->add_flag("--measure", arguments->measure,
                    "also measure memory, FP64, tensor cores and copies, and compare them with theory and "
                    "with each other; at most a minute, and not on GPUs that are in use");
    check->add_flag("--json", arguments->as_json, "print the reports as JSON");
    check->add_option("--sys", arguments->sys, "read PCI devices and modules from this copy of /sys")
        ->type_name("FOLDER")
        ->check(CLI::ExistingDirectory)
        ->capture_default_str();
    check->add_flag("--measuring", arguments->measuring)->group("");
    check->callback([arguments, &action] {
        action = [arguments](const Invocation& invocation) {
            if (arguments->measuring) {
                run_measuring();
                return ExitCode::Done;
            }
            if (!launcher_rank())  // without MPI, which may need the drivers that this checks
                return print_reports(std::vector<NodeReport>(1, check_this_node(*arguments)),
                                     arguments->as_json);
            return with_mpi(invocation,
                            [&](const MpiSession& mpi) { return check_all_nodes(mpi.world(), *arguments); });
        };
    });
}

}  // namespace voltpile::cli
