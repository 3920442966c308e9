#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/kernel_files.h"
#include "cli/command.h"
#include "cli/machine_json.h"
#include "machine/pci_errors.h"
#include "plan/cluster_file.h"
#include "plan/cluster_writer.h"
#include "plan/machine_svg.h"
#include "plan/machine_tree.h"
#include "run/discover_topology.h"

namespace voltpile::cli {
namespace {

struct TopoArguments {
    std::string cluster;
    std::string save;
    std::string svg;
    bool json = false;
};

// Hosts that differ only by name.
struct SameHosts {
    Host host;  // the first of them
    std::vector<std::string> names;
};

std::vector<SameHosts> without_repetition(const std::vector<Host>& hosts) {
    std::vector<SameHosts> all;
    for (const Host& host : hosts) {
        Host as_last = host;
        if (!all.empty()) as_last.name = all.back().host.name;
        if (all.empty() || as_last != all.back().host) all.push_back({host, {}});
        all.back().names.push_back(host.name);
    }
    return all;
}

void write_file(const std::string& path, const std::string& text) {
    std::ofstream file(path, std::ios::binary);
    file << text;
    file.flush();
    if (!file) throw FileError("write", path, errno);
}

void print_hosts(const TopoArguments& args, const Topology& topology) {
    const std::vector<SameHosts> all = without_repetition(topology.hosts);
    if (args.json) {
        nlohmann::json hosts = nlohmann::json::array();
        for (const SameHosts& each : all) {
            hosts.push_back(machine_json(each.host));
            hosts.back()["hosts"] = each.names;
        }
        fmt::print("{}\n", hosts.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
        return;
    }
    if (!topology.notes.description.empty()) fmt::print("{}\n\n", topology.notes.description);
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (i > 0) fmt::print("\n");
        if (all[i].names.size() > 1)
            fmt::print("{} hosts, {} to {}, like this one:\n", all[i].names.size(), all[i].names.front(),
                       all[i].names.back());
        fmt::print("{}", topo_text(all[i].host));
    }
    if (!topology.notes.sources.empty()) fmt::print("\nsources:\n");
    for (const std::string& source : topology.notes.sources) fmt::print("  {}\n", source);
}

// A driver that fails or hangs shows no GPUs.
void warn_of_hidden_gpus(const Host& host) {
    const std::size_t seen = nvidia_gpus(sys_folder()).size();
    if (host.gpus.empty() && seen > 0)
        spdlog::warn(
            "the kernel sees {} NVIDIA GPU{} here, but the driver shows none: voltpile check says why", seen,
            seen == 1 ? "" : "s");
}

ExitCode show_topology(const TopoArguments& args) {
    Topology topology;
    if (args.cluster.empty())
        topology.hosts.push_back(read_this_host());
    else
        topology = load_cluster(args.cluster, 1);
    if (args.cluster.empty()) warn_of_hidden_gpus(topology.hosts.front());
    print_hosts(args, topology);
    if (!args.save.empty()) write_file(args.save, cluster_text(topology.hosts.front()));
    if (!args.svg.empty()) write_file(args.svg, machine_svg(topology.hosts.front()));
    return ExitCode::Done;
}

}  // namespace

void add_topo(CLI::App& cli, Action& action) {
    CLI::App* topo = cli.add_subcommand(
        "topo", "print how GPUs, network adapters and processors are connected, and what that means");
    auto args = std::make_shared<TopoArguments>();
    topo->add_option(
            "--cluster", args->cluster,
            "a described machine: a file, or the name of an installed one, such as dgx_1v [this machine]")
        ->type_name("FILE")
        ->transform(shipped_file("data/clusters"))
        ->check(some_name());
    topo->add_option("--save", args->save, "write a description of the first host, for --cluster")
        ->type_name("FILE")
        ->check(some_name());
    topo->add_option("--svg", args->svg, "draw the first host")->type_name("FILE")->check(some_name());
    topo->add_flag("--json", args->json, "print JSON instead of text");
    topo->footer(
        "examples:\n"
        "  voltpile topo\n"
        "  voltpile topo --cluster gigabyte_g482 --svg g482.svg");
    topo->callback([args, &action] {
        action = on_first_rank([args](const Invocation&) { return show_topology(*args); });
    });
}

}  // namespace voltpile::cli
