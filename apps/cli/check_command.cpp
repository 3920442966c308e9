#include "cli/command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/host_name.h"
#include "cli/process_rank.h"
#include "cluster/hosts/links.h"
#include "health/check_this_node.h"
#include "health/clocks.h"
#include "health/node_links.h"
#include "health/node_report.h"
#include "health/run_measuring.h"
#include "machine/node_check.h"
#include "run/discover_topology.h"

namespace voltpile::cli {
namespace {

struct CheckArguments {
    bool as_json = false;
    NodeCheckRequest request;
    bool measuring = false;  // internal: this is the process that measures
};

// links: of the nodes by the same numbers; empty: not measured.
ExitCode print_reports(std::vector<NodeReport> reports, bool as_json, const NodeLinks& links = NodeLinks()) {
    compare_nodes(reports);
    const auto of_links = judge_links(links);
    nlohmann::json all = nlohmann::json::array();
    for (std::size_t node = 0; node < reports.size(); ++node) {
        NodeReport& report = reports[node];
        if (node < of_links.size())
            report.findings.insert(report.findings.end(), of_links[node].begin(), of_links[node].end());
        if (as_json) {
            all.push_back(report_json(report));
            if (node < links.nodes.size()) all.back()["links"] = links_json(links, node);
        } else {
            fmt::print("{}", report_text(report));
        }
    }
    if (!as_json) fmt::print("{}", links_text(links));
    if (as_json) fmt::print("{}\n", all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
    const bool bad = std::ranges::any_of(
        reports, [](const NodeReport& report) { return verdict(report.findings) == Health::Bad; });
    return bad ? ExitCode::CannotRun : ExitCode::Done;
}

// Prints the reports and ends the job if the network swallows messages: MPI would wait forever.
class StalledLinks {
  public:
    StalledLinks(const MpiSession& mpi, const std::vector<NodeReport>& reports, bool as_json)
        : thread_([this, &mpi, &reports, as_json](const std::stop_token& stop) {
              std::unique_lock lock(mutex_);
              while (!stop.stop_requested()) {
                  begun_ = false;
                  if (changed_.wait_for(lock, stop, longest, [this] { return begun_; })) continue;
                  if (stop.stop_requested()) return;
                  std::vector<NodeReport> found = reports;
                  for (const int node : pair_)
                      found[static_cast<std::size_t>(node)].findings.push_back(
                          {Health::Bad,
                           fmt::format("messages get stuck between {} and {}",
                                       found[static_cast<std::size_t>(pair_[0])].node,
                                       found[static_cast<std::size_t>(pair_[1])].node),
                           "look at cable, switch port, firewall and MTU of these two: voltpile hosts"});
                  print_reports(std::move(found), as_json);
                  std::fflush(stdout);
                  mpi.abort(static_cast<int>(ExitCode::CannotRun));
              }
          }) {}

    void step(int a, int b) {
        const std::lock_guard lock(mutex_);
        pair_ = {a, b};
        begun_ = true;
        changed_.notify_one();
    }

  private:
    static constexpr std::chrono::seconds longest{20};  // between two steps; a slow link takes a second
    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::array<int, 2> pair_{0, 1};
    bool begun_ = false;
    std::jthread thread_;
};

// Collective, after the nodes have reported. Adds to the reports why there are no links.
NodeLinks check_links(const MpiSession& mpi, const CheckArguments& arguments,
                      const std::vector<std::string>& hosts, std::vector<NodeReport>& reports) {
    constexpr std::size_t most_nodes = 64;  // all pairs of them take half a minute
    const std::set<std::string> nodes(hosts.begin(), hosts.end());
    if (!arguments.request.measure || nodes.size() < 2) return NodeLinks();
    const char* const reason =
        nodes.size() < hosts.size() ? "start one rank on each node: mpirun --map-by ppr:1:node"
        : nodes.size() > most_nodes ? "more than 64 nodes: voltpile hosts measures them"
                                    : nullptr;
    if (reason) {
        for (NodeReport& report : reports)
            report.not_measured.push_back(fmt::format("links between nodes: {}", reason));
        return NodeLinks();
    }
    const double adapter = read_this_host().network_gbit_per_s * 1e9 / 8;
    std::optional<StalledLinks> stalled;
    if (mpi.world().rank() == 0) stalled.emplace(mpi, reports, arguments.as_json);
    constexpr double all_pairs_s = 30;
    const NodeLinks links =
        measure_node_links(mpi, hosts, adapter, {seconds_per_pair(hosts.size()), all_pairs_s},
                           [&](int a, int b) { stalled->step(a, b); });
    for (std::size_t node = 0; node < reports.size(); ++node)
        if (const auto others = not_measured_with(links, node); !others.empty())
            reports[node].not_measured.push_back(fmt::format("the links to {}: other links took {:.0f} s",
                                                             fmt::join(others, ", "), all_pairs_s));
    return links;
}

// The first rank of each node checks it.
ExitCode check_all_nodes(const MpiSession& mpi, const CheckArguments& arguments) {
    const Communicator& world = mpi.world();
    const std::vector<std::string> hosts = world.all_gather(host_name());
    const bool first = std::ranges::find(hosts, host_name()) - hosts.begin() == world.rank();
    const ClockOffset clock = compare_clocks(world);
    std::string mine;
    if (first) {
        NodeReport report = check_this_node(arguments.request).report;
        if (const auto finding = judge_clock(clock)) report.findings.push_back(*finding);
        report.clock = clock;
        mine = report_json(report).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    }
    world.wait_asleep();  // the other ranks leave the cores to what is measured
    std::vector<NodeReport> reports;
    for (const std::string& text : world.all_gather(mine))
        if (!text.empty()) reports.push_back(report_from(nlohmann::json::parse(text)));
    const NodeLinks links = check_links(mpi, arguments, hosts, reports);
    ExitCode code = ExitCode::Done;
    if (world.rank() == 0) code = print_reports(std::move(reports), arguments.as_json, links);
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
    check->add_flag(
        "--measure", arguments->request.measure,
        "also measure memory, FP64, tensor cores and copies, and under mpirun latency and bandwidth "
        "between nodes, and compare them with theory and with each other; at most a minute, and "
        "not on GPUs that are in use");
    check->add_flag("--json", arguments->as_json, "print the reports as JSON");
    check->add_option("--sys", arguments->request.sys, "read PCI devices and modules from this copy of /sys")
        ->type_name("FOLDER")
        ->check(CLI::ExistingDirectory)
        ->capture_default_str();
    check
        ->add_option("--kernel-log", arguments->request.kernel_log,
                     "look for Xids in this copy of the kernel's log (dmesg, journalctl -k)")
        ->type_name("FILE")
        ->check(CLI::ExistingFile);
    check
        ->add_option("--folder", arguments->request.folders,
                     "a folder whose disk must have room, besides /dev/shm and $TMPDIR [the current folder "
                     "and its results]")
        ->type_name("FOLDER")
        ->check(some_name());
    check->add_flag("--measuring", arguments->measuring)->group("");
    check->callback([arguments, &action] {
        action = [arguments](const Invocation& invocation) {
            if (arguments->measuring) {
                run_measuring();
                return ExitCode::Done;
            }
            if (!launcher_rank())  // without MPI, which may need the drivers that this checks
                return print_reports(std::vector<NodeReport>(1, check_this_node(arguments->request).report),
                                     arguments->as_json);
            return with_mpi(invocation,
                            [&](const MpiSession& mpi) { return check_all_nodes(mpi, *arguments); });
        };
    });
}

}  // namespace voltpile::cli
