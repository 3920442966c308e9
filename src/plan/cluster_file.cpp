#include "plan/cluster_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <set>
#include <string>

#include "base/error.h"
#include "base/shipped_files.h"
#include "plan/cluster_devices.h"
#include "plan/cluster_table.h"
#include "plan/toml_file.h"

namespace voltpile {
namespace {

// Bounds on a description, so that a typing error cannot fill the memory. The largest systems of the TOP500
// list of 2024 have about 10,000 nodes and 75,000 GPUs.
constexpr int kMostHosts = 20'000;
constexpr int kMostRanks = 100'000;
constexpr int kMostSockets = 64;
constexpr int kMostCoresPerHost = 1024;
constexpr double kMostPriceUsd = 1e10;
constexpr int kLeastSimdBits = 64, kMostSimdBits = 65'536;

toml::table read_description(const std::string& path) {
    return parse_toml(toml_file_text(path, "a machine description"), path);
}

void read_cores(const ClusterTable& table, Host& host) {
    const int sockets = table.integer("sockets", 1, kMostSockets);
    const int cores = table.integer("cores_per_socket", 1, kMostCoresPerHost / sockets);
    const int nodes = table.integer_or("numa_per_socket", 1, cores, 1);
    if (cores % nodes != 0)
        table.fail("numa_per_socket",
                   fmt::format("numa_per_socket = {}: must divide the {} cores of a socket", nodes, cores));
    for (int i = 0; i < sockets * cores; ++i) host.cores.push_back({i, i / (cores / nodes)});
    for (int node = 0; node < sockets * nodes; ++node) host.socket_of_numa_node.push_back(node / nodes);
}

Host read_whole_host(const ClusterTable& table) {
    table.allow({"name", "count", "cpu", "cpu_ghz", "simd_bits", "sockets", "cores_per_socket",
                 "numa_per_socket", "memory_gb", "memory_gb_per_s", "watts", "nvswitch", "root", "switch",
                 "gpu", "nic", "nvlink"});
    Host host;
    host.cpu_name = table.phrase("cpu");
    host.cpu_ghz = table.number("cpu_ghz", kLeastGhz, kMostGhz);
    host.simd_bits = table.integer("simd_bits", kLeastSimdBits, kMostSimdBits);
    if (!std::has_single_bit(static_cast<unsigned>(host.simd_bits)))
        table.fail("simd_bits", fmt::format("simd_bits = {}: must be a power of two, such as 256 for AVX2",
                                            host.simd_bits));
    host.memory_bytes = table.memory_bytes();
    host.memory_gb_per_s = table.number_or("memory_gb_per_s", kLeastGbPerS, kMostGbPerS, 0);
    host.watts = table.number_or("watts", kLeastWatts, kMostWatts, 0);
    read_cores(table, host);
    read_devices(table, host);
    double gpu_watts = 0;
    for (const Gpu& gpu : host.gpus) gpu_watts += gpu.watts;
    if (host.watts > 0 && host.watts < gpu_watts)
        table.fail("watts", fmt::format("watts = {}: of the whole host, but its GPUs alone draw {}",
                                        host.watts, gpu_watts));
    return host;
}

// Reads a host that is like the only one of another description.
Host read_like_host(const ClusterTable& table) {
    table.allow({"name", "count", "memory_gb", "like"});
    const std::string like = table.name("like");
    namespace fs = std::filesystem;
    const std::string name = like + ".toml";
    fs::path file = fs::path(table.path()).parent_path() / name;
    std::error_code error;
    if (!fs::is_regular_file(file, error)) file = shipped_folder() / "data/clusters" / name;
    if (!fs::is_regular_file(file, error))
        table.fail(
            "like",
            fmt::format("like = \"{}\": there is no {}, neither beside this file nor among the machines that "
                        "come with the program",
                        like, name));
    const toml::table other = read_description(file.string());
    const std::vector<ClusterTable> hosts = ClusterTable(other, file.string()).tables("host");
    if (hosts.size() != 1 || hosts.front().has("like"))
        table.fail("like",
                   fmt::format("like = \"{}\": {} must describe one host in full", like, file.string()));
    Host host = read_whole_host(hosts.front());
    if (table.has("memory_gb")) host.memory_bytes = table.memory_bytes();
    return host;
}

void add_hosts(const ClusterTable& table, Topology& topology, std::set<std::string>& names) {
    const std::string name = table.name("name");
    const int count = table.integer("count", 1, kMostHosts);
    Host host = table.has("like") ? read_like_host(table) : read_whole_host(table);
    if (std::ssize(topology.hosts) + count > kMostHosts)
        table.fail("count",
                   fmt::format("count = {}: a cluster can have at most {} hosts in all", count, kMostHosts));
    for (int i = 0; i < count; ++i) {
        host.name = count == 1 ? name : fmt::format("{}{}", name, i + 1);
        if (!names.insert(host.name).second)
            table.fail("name", fmt::format("name = \"{}\": another host is called {}", name, host.name));
        topology.hosts.push_back(host);
    }
}

MachineNotes read_notes(const ClusterTable& table) {
    MachineNotes notes;
    if (table.has("description")) notes.description = table.phrase("description");
    notes.sources = table.texts("source");
    notes.price_usd = table.number_or("price_usd", 1, kMostPriceUsd, 0);
    if (notes.price_usd > 0)
        notes.price_source = table.phrase("price_source");
    else if (table.has("price_source"))
        table.fail("price_source", "price_source needs price_usd");
    return notes;
}

}  // namespace

Topology load_cluster(const std::string& path, int ranks_per_host) {
    Topology topology;
    const toml::table file = read_description(path);
    const ClusterTable table(file, path);
    table.allow({"description", "source", "price_usd", "price_source", "host"});
    topology.notes = read_notes(table);
    std::set<std::string> names;
    for (const ClusterTable& host : table.tables("host")) add_hosts(host, topology, names);
    if (topology.hosts.empty()) table.fail("host", "no [[host]]");
    for (std::size_t h = 0; h < topology.hosts.size(); ++h) {
        const Host& host = topology.hosts[h];
        const int ranks =
            ranks_per_host > 0 ? ranks_per_host : std::max(1, static_cast<int>(host.gpus.size()));
        if (std::ssize(topology.ranks) + ranks > kMostRanks)
            throw JobError(fmt::format("{}: {} ranks on each of {} hosts; a plan can have at most {} ranks",
                                       path, ranks, topology.hosts.size(), kMostRanks));
        for (int local = 0; local < ranks; ++local) {
            RankPlace place{static_cast<int>(h), local, {}, {}};
            for (std::size_t core = 0; core < host.cores.size(); ++core)
                place.allowed_cores.push_back(static_cast<int>(core));
            for (std::size_t gpu = 0; gpu < host.gpus.size(); ++gpu)
                place.visible_gpus.push_back(static_cast<int>(gpu));
            topology.ranks.push_back(place);
        }
    }
    return topology;
}

}  // namespace voltpile
