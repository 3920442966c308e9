#include <fmt/format.h>

#include <toml++/toml.h>
#include <cmath>

#include "base/error.h"
#include "plan/topology.h"

namespace voltpile {
namespace {

// Reads one table of a machine description and remembers where to blame.
class Table {
  public:
    Table(const toml::table& table, std::string path) : table_(table), path_(std::move(path)) {}

    template <class T>
    T get(std::string_view key) const {
        const toml::node* node = table_.get(key);
        if (!node) fail(table_, fmt::format("{} is missing", key));
        const auto value = node->value<T>();
        if (!value) fail(*node, fmt::format("{} has the wrong type", key));
        if constexpr (std::is_arithmetic_v<T>)
            if (!(*value > 0)) fail(*node, fmt::format("{} = {}: must be greater than 0", key, *value));
        return *value;
    }

    template <class T>
    T get_or(std::string_view key, T otherwise) const {
        return table_.contains(key) ? get<T>(key) : otherwise;
    }

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

// FP64 and FP32 instructions per clock and multiprocessor, from the CUDA programming guide's table of
// throughputs.
struct Throughput {
    double fp64, fp32;
};
Throughput throughput_of(int compute_capability) {
    switch (compute_capability) {
        case 60:
            return {32, 64};
        case 70:
            return {32, 64};
        case 80:
            return {32, 64};
        case 90:
            return {64, 128};
        case 100:
            return {64, 128};
        case 75:
            return {2, 64};
        default:
            return {2, 128};
    }
}

void add_hosts(const Table& table, Topology& topology) {
    Host host;
    const auto name = table.get<std::string>("name");
    const auto count = table.get<std::int64_t>("count");
    const auto sockets = table.get<std::int64_t>("sockets");
    host.cpu_name = table.get<std::string>("cpu");
    host.cpu_ghz = table.get<double>("cpu_ghz");
    host.simd_bits = static_cast<int>(table.get<std::int64_t>("simd_bits"));
    host.memory_bytes = static_cast<std::int64_t>(table.get<double>("memory_gb") * 1e9);
    const auto cores = table.get<std::int64_t>("cores_per_socket");
    int islands = 0;
    for (std::int64_t i = 0; i < sockets * cores; ++i)
        host.cores.push_back({static_cast<int>(i), static_cast<int>(i / cores)});
    for (const Table& gpus : table.tables("gpu")) {
        Gpu gpu;
        gpu.name = gpus.get<std::string>("name");
        gpu.compute_capability = static_cast<int>(gpus.get<std::int64_t>("compute_capability"));
        gpu.multiprocessors = static_cast<int>(gpus.get<std::int64_t>("multiprocessors"));
        gpu.clock_ghz = gpus.get<double>("clock_ghz");
        gpu.memory_bytes = static_cast<std::int64_t>(gpus.get<double>("memory_gb") * 1e9);
        set_throughput(gpu);
        const auto of_island = gpus.get_or<std::int64_t>("nvlink_island", 1);
        for (std::int64_t i = 0; i < gpus.get<std::int64_t>("count"); ++i) {
            if (of_island > 1 && i % of_island == 0) gpu.nvlink_island = islands++;
            host.gpus.push_back(gpu);
        }
    }
    for (std::int64_t i = 0; i < count; ++i) {
        host.name = count == 1 ? name : fmt::format("{}{}", name, i + 1);
        topology.hosts.push_back(host);
    }
}

}  // namespace

void set_throughput(Gpu& gpu) {
    const Throughput throughput = throughput_of(gpu.compute_capability);
    gpu.fp64_per_clock = throughput.fp64;
    gpu.fp32_per_clock = throughput.fp32;
}

Topology load_cluster(const std::string& path, int ranks_per_host) {
    Topology topology;
    try {
        const toml::table file = toml::parse_file(path);
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
