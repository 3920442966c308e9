#include "cluster/slurm/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/error.h"
#include "base/process.h"
#include "cluster/slurm/gpu.h"

namespace voltpile {
namespace {

std::vector<std::string> words_of(const std::string& text, char separator) {
    std::vector<std::string> words;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find(separator, begin), text.size());
        words.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return words;
}

std::int64_t limit(const SlurmRecord& record, const std::string& key) {
    const std::int64_t number = record.integer(key);
    return number > 0 ? number : std::numeric_limits<std::int64_t>::max();  // "UNLIMITED"
}

SlurmNode to_node(const SlurmRecord& record) {
    const auto number = [&](const char* key) { return std::max(1, static_cast<int>(record.integer(key))); };
    SlurmNode node;
    node.name = record.text("NodeName");
    node.state = record.text("State");
    node.sockets = number("Sockets");
    const int physical = node.sockets * number("CoresPerSocket");
    const int cpus = number("CPUTot");
    // Fewer CPUs than threads: the site counts cores or reserves some for the system.
    node.cpus_per_core = std::max(1, cpus / physical);
    const auto for_jobs = static_cast<int>(record.integer("CPUEfctv"));
    node.cores = std::max(1, std::min(physical, (for_jobs > 0 ? for_jobs : cpus) / node.cpus_per_core));
    node.memory_mb = static_cast<double>(record.integer("RealMemory"));
    node.gpus = parse_gres(record.text("Gres"));
    node.partitions = words_of(record.text("Partitions"), ',');
    return node;
}

SlurmPartition to_partition(const SlurmRecord& record) {
    SlurmPartition partition;
    partition.name = record.text("PartitionName");
    partition.is_default = record.text("Default") == "YES";
    partition.state = record.text("State");
    partition.max_time_s =
        parse_slurm_time(record.text("MaxTime")).value_or(std::numeric_limits<double>::infinity());
    partition.max_nodes = limit(record, "MaxNodes");
    partition.max_cpus_per_node = limit(record, "MaxCPUsPerNode");
    partition.preempt_mode = record.text("PreemptMode");
    return partition;
}

// Returns core i of n on a node with `sockets` sockets.
int socket_of(int i, int n, int sockets) {
    return static_cast<int>(static_cast<std::int64_t>(i) * sockets / std::max(n, 1));
}

std::vector<Gpu> gpus_of(const SlurmNode& node, const Host& described) {
    std::vector<Gpu> gpus;
    for (const GresGpus& kind : node.gpus) {
        const Gpu same = gpu_of_type(kind.type).gpu;
        for (int i = 0; i < kind.count; ++i) {
            Gpu gpu = gpus.size() < described.gpus.size() ? described.gpus[gpus.size()] : same;
            if (!kind.sockets.empty())
                gpu.place.numa_node = kind.sockets[static_cast<std::size_t>(
                    socket_of(i, kind.count, static_cast<int>(kind.sockets.size())))];
            gpus.push_back(std::move(gpu));
        }
    }
    return gpus;
}

}  // namespace

int SlurmNode::gpu_count() const {
    int count = 0;
    for (const GresGpus& kind : gpus) count += kind.count;
    return count;
}

bool SlurmNode::usable() const {
    static constexpr std::array<std::string_view, 10> unusable{
        "DOWN",    "DRAIN",          "DRAINED", "DRAINING", "FAIL",
        "FAILING", "NOT_RESPONDING", "FUTURE",  "UNKNOWN",  "INVAL"};
    if (state.ends_with('*')) return false;  // Slurm marks unresponsive nodes with *
    for (std::string word : words_of(state, '+')) {
        while (!word.empty() && !std::isalpha(static_cast<unsigned char>(word.back()))) word.pop_back();
        if (std::find(unusable.begin(), unusable.end(), word) != unusable.end()) return false;
    }
    return true;
}

SlurmMachine parse_machine(std::string_view nodes, std::string_view partitions, std::string_view config) {
    SlurmMachine machine;
    for (const SlurmRecord& record : parse_records(nodes)) machine.nodes.push_back(to_node(record));
    for (const SlurmRecord& record : parse_records(partitions))
        machine.partitions.push_back(to_partition(record));
    machine.max_array_size = config_integer(config, "MaxArraySize").value_or(1001);
    return machine;
}

void require_slurm(const std::string& program) {
    if (!find_program(program))
        throw MachineError(fmt::format(
            "{} is not installed here, so there is no Slurm to ask; run under mpirun: docs/cluster.md",
            program));
}

std::string ask_slurm(const std::vector<std::string>& command) {
    require_slurm(command.front());
    // Makes the format of times independent of the user's settings.
    ProcessResult result = run_process({command, "", {{"SLURM_TIME_FORMAT", "standard"}, {"LC_ALL", "C"}}});
    if (result.timed_out)
        throw MachineError(fmt::format("Slurm does not respond: {} took longer than 30 s", command.front()));
    if (result.exit_code != 0)
        throw MachineError(fmt::format("Slurm does not respond: {}", trimmed(result.err + result.out)));
    return std::move(result.out);
}

SlurmMachine read_machine() {
    const auto show = [](const char* what) { return ask_slurm({"scontrol", "--oneliner", "show", what}); };
    return parse_machine(show("node"), show("partition"), show("config"));
}

Host NodeSpeeds::of(const SlurmNode& node) const {
    for (const Host& host : described)
        if (host.name == node.name) return host;
    Host host;
    host.cpu_name = "processor";
    host.cpu_ghz = 2.0;
    host.simd_bits = 256;
    return host;
}

Topology topology_of(std::span<const SlurmNode> nodes, const NodeShare& share, const NodeSpeeds& speeds) {
    Topology topology;
    for (const SlurmNode& node : nodes) {
        Host host = speeds.of(node);
        const std::vector<Gpu> gpus = gpus_of(node, host);
        host.name = node.name;
        host.memory_bytes = static_cast<std::int64_t>(node.memory_mb * 1048576);
        host.cores.clear();
        for (int core = 0; core < share.cores; ++core)
            host.cores.push_back({core, socket_of(core, share.cores, node.sockets)});
        host.gpus.assign(gpus.begin(), gpus.begin() + std::min<std::ptrdiff_t>(share.gpus, std::ssize(gpus)));
        const auto index = static_cast<int>(topology.hosts.size());
        for (int rank = 0; rank < share.ranks; ++rank) {
            RankPlace place{index, rank, {}, {}};
            for (int core = 0; core < share.cores; ++core) place.allowed_cores.push_back(core);
            for (int gpu = 0; gpu < std::ssize(host.gpus); ++gpu) place.visible_gpus.push_back(gpu);
            topology.ranks.push_back(std::move(place));
        }
        topology.hosts.push_back(std::move(host));
    }
    return topology;
}

}  // namespace voltpile
