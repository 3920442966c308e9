#include "plan/cluster_file.h"

#include <fmt/format.h>

#include <toml++/toml.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>

#include "base/error.h"

namespace voltpile {
namespace {

// Bounds on a description, so that a typing error cannot fill the memory. The largest systems of the TOP500
// list of 2024 have about 10,000 nodes and 75,000 GPUs.
constexpr std::size_t kMostBytes = std::size_t{1} << 20;
constexpr int kMostHosts = 20'000;
constexpr int kMostRanks = 100'000;
constexpr int kMostSockets = 64;
constexpr int kMostCoresPerHost = 1024;
constexpr int kMostGpusPerHost = 64;
constexpr int kMostSimdBits = 65'536;
constexpr int kMostMultiprocessors = 4096;
constexpr int kMostComputeCapability = 999;
constexpr double kMostMemoryGb = 1e6;

// Reads one table of a machine description; its errors name the file and the line.
class Table {
  public:
    Table(const toml::table& table, std::string path) : table_(table), path_(std::move(path)) {}

    template <class T>
    T get(std::string_view key) const {
        const toml::node* node = table_.get(key);
        if (!node) fail(table_, fmt::format("{} is missing", key));
        const auto value = node->value<T>();
        if (!value) fail(*node, fmt::format("{} has the wrong type", key));
        if constexpr (std::is_same_v<T, double>)
            if (!(*value > 0) || !std::isfinite(*value))
                fail(*node, fmt::format("{} = {}: must be finite and greater than 0", key, *value));
        return *value;
    }

    // An integer from 1 to `most`.
    int count(std::string_view key, int most) const {
        const auto value = get<std::int64_t>(key);
        if (value < 1 || value > most)
            fail(*table_.get(key), fmt::format("{} = {}: must be between 1 and {}", key, value, most));
        return static_cast<int>(value);
    }

    int count_or(std::string_view key, int most, int otherwise) const {
        return table_.contains(key) ? count(key, most) : otherwise;
    }

    const toml::node& node(std::string_view key) const { return *table_.get(key); }

    std::vector<Table> tables(std::string_view key) const {
        std::vector<Table> out;
        const toml::node* node = table_.get(key);
        if (!node) return out;
        const toml::array* array = node->as_array();
        if (!array) fail(*node, fmt::format("{} must be an array of tables: [[{}]]", key, key));
        for (const toml::node& element : *array) {
            const toml::table* each = element.as_table();
            if (!each) fail(element, fmt::format("{} must be an array of tables: [[{}]]", key, key));
            out.emplace_back(*each, path_);
        }
        return out;
    }

    [[noreturn]] void fail(const toml::node& node, const std::string& message) const {
        throw JobError(fmt::format("{}:{}: {}", path_, node.source().begin.line, message));
    }

  private:
    const toml::table& table_;
    std::string path_;
};

std::int64_t memory_of(const Table& table) {
    const auto gb = table.get<double>("memory_gb");
    if (gb > kMostMemoryGb)
        table.fail(table.node("memory_gb"),
                   fmt::format("memory_gb = {}: must be at most {}", gb, kMostMemoryGb));
    return static_cast<std::int64_t>(gb * 1e9);
}

void add_hosts(const Table& table, Topology& topology) {
    Host host;
    const auto name = table.get<std::string>("name");
    const int count = table.count("count", kMostHosts);
    const int sockets = table.count("sockets", kMostSockets);
    host.cpu_name = table.get<std::string>("cpu");
    host.cpu_ghz = table.get<double>("cpu_ghz");
    host.simd_bits = table.count("simd_bits", kMostSimdBits);
    host.memory_bytes = memory_of(table);
    const int cores = table.count("cores_per_socket", kMostCoresPerHost / sockets);
    int islands = 0;
    for (int i = 0; i < sockets * cores; ++i) host.cores.push_back({i, i / cores});
    for (const Table& gpus : table.tables("gpu")) {
        Gpu gpu;
        gpu.name = gpus.get<std::string>("name");
        gpu.compute_capability = gpus.count("compute_capability", kMostComputeCapability);
        gpu.multiprocessors = gpus.count("multiprocessors", kMostMultiprocessors);
        gpu.clock_ghz = gpus.get<double>("clock_ghz");
        gpu.memory_bytes = memory_of(gpus);
        set_throughput(gpu);
        const int of_island = gpus.count_or("nvlink_island", kMostGpusPerHost, 1);
        const int of_this_kind = gpus.count("count", kMostGpusPerHost);
        if (std::ssize(host.gpus) + of_this_kind > kMostGpusPerHost)
            gpus.fail(gpus.node("count"), fmt::format("count = {}: a host can have at most {} GPUs in all",
                                                      of_this_kind, kMostGpusPerHost));
        for (int i = 0; i < of_this_kind; ++i) {
            if (of_island > 1 && i % of_island == 0) gpu.nvlink_island = islands++;
            host.gpus.push_back(gpu);
        }
    }
    if (std::ssize(topology.hosts) + count > kMostHosts)
        table.fail(table.node("count"),
                   fmt::format("count = {}: a cluster can have at most {} hosts in all", count, kMostHosts));
    for (int i = 0; i < count; ++i) {
        host.name = count == 1 ? name : fmt::format("{}{}", name, i + 1);
        topology.hosts.push_back(host);
    }
}

std::string contents_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw JobError(fmt::format("cannot open {}: {}", path, std::strerror(errno)));
    std::string text(kMostBytes + 1, '\0');
    file.read(text.data(), std::ssize(text));
    if (file.bad()) throw JobError(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
    text.resize(static_cast<std::size_t>(file.gcount()));
    if (text.size() > kMostBytes)
        throw JobError(fmt::format("{}: larger than 1 MiB, so it is not a machine description", path));
    return text;
}

}  // namespace

Topology load_cluster(const std::string& path, int ranks_per_host) {
    Topology topology;
    try {
        const toml::table file = toml::parse(contents_of(path), path);
        for (const Table& host : Table(file, path).tables("host")) add_hosts(host, topology);
    } catch (const toml::parse_error& error) {
        const auto at = error.source().begin;
        if (at.line == 0) throw JobError(fmt::format("{}: {}", path, error.description()));
        throw JobError(fmt::format("{}:{}:{}: {}", path, at.line, at.column, error.description()));
    }
    if (topology.hosts.empty()) throw JobError(fmt::format("{}: no [[host]]", path));
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
