#include "cli/command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/build_info.h"
#include "base/error.h"
#include "base/host_name.h"
#include "cli/process_rank.h"
#include "health/clocks.h"
#include "health/measure_node.h"
#include "health/node_report.h"
#include "health/run_measuring.h"
#include "health/software.h"
#include "machine/node_check.h"
#include "machine/probe.h"
#include "machine/settings_record.h"
#include "machine/xid.h"

namespace voltpile::cli {
namespace {

struct CheckArguments {
    bool as_json = false;
    bool measure = false;
    std::string sys = "/sys";
    std::string kernel_log;  // a file; empty: of this node
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

std::string text_of(const std::string& file) {
    std::ifstream in(file);
    std::string text{std::istreambuf_iterator<char>(in), {}};
    if (!in) throw FileError("read", file, errno);
    return text;
}

NodeReport check_this_node(const CheckArguments& arguments) {
    const std::vector<NodeFinding> restored = restore_gpus();
    const NodeGpus gpus = probe_gpus();
    std::vector<NodeFinding> findings = check_node(gpus, arguments.sys);
    const auto append = [&](const std::vector<NodeFinding>& more) {
        findings.insert(findings.end(), more.begin(), more.end());
    };
    append(restored);
    append(check_software(gpus, build_info().cuda));
    if (const auto log = arguments.kernel_log.empty() ? kernel_log() : text_of(arguments.kernel_log))
        append(judge_xids(count_xids(*log), gpus));
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
    const std::optional<NodeFinding> clock = judge_clock(compare_clocks(world));
    std::string mine;
    if (first) {
        NodeReport report = check_this_node(arguments);
        if (clock) report.findings.push_back(*clock);
        mine = report_json(report).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    }
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
    check
        ->add_option("--kernel-log", arguments->kernel_log,
                     "look for Xids in this copy of the kernel's log (dmesg, journalctl -k)")
        ->type_name("FILE")
        ->check(CLI::ExistingFile);
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
