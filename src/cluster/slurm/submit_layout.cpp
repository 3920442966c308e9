#include "cluster/slurm/submit_layout.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "job/nearest.h"

namespace voltpile {
namespace {

// More cores do not make a GPU faster, so other jobs may have them.
constexpr int cores_per_gpu = 4;

// Chooses nodes of a partition and their shares for one request.
class Chooser {
  public:
    Chooser(const SlurmMachine& machine, const SlurmPartition& partition, const LayoutNeeds& needs)
        : partition_(partition), needs_(needs) {
        for (const SlurmNode& node : machine.nodes)
            if (std::find(node.partitions.begin(), node.partitions.end(), partition.name) !=
                node.partitions.end())
                nodes_.push_back(node);
        if (nodes_.empty()) throw MachineError(fmt::format("partition {} has no nodes", partition.name));
        if (needs.nodes) check_node_count(*needs.nodes);
        if (needs.gpus_per_node.value_or(0) > 0 && needs.device == DeviceChoice::Cpu)
            throw JobError("--gpus-per-node: the job computes on CPUs (run.device = \"cpu\")");
        if (needs.gpus_per_node == 0 && needs.device == DeviceChoice::Gpu)
            throw JobError("--gpus-per-node=0: the job computes on GPUs (run.device = \"gpu\")");
    }

    Layout choose() {
        Layout layout;
        layout.share.gpus = gpus();
        keep([&](const SlurmNode& node) { return node.gpu_count() >= layout.share.gpus; });
        layout.share.ranks = ranks(layout.share.gpus);
        const int cores = cores_for(layout.share);
        const int each = cores / layout.share.ranks;
        keep([&](const SlurmNode& node) { return cores_of(node) >= each * layout.share.ranks; });
        layout.share.cores = each * layout.share.ranks;
        const int threads_per_core =
            std::min_element(nodes_.begin(), nodes_.end(), [](const SlurmNode& a, const SlurmNode& b) {
                return a.cpus_per_core < b.cpus_per_core;
            })->cpus_per_core;
        layout.cpus_per_task = each * threads_per_core;
        layout.nodes = nodes_;
        return layout;
    }

    std::size_t most_nodes() const {
        const auto up =
            std::count_if(nodes_.begin(), nodes_.end(), [](const SlurmNode& n) { return n.usable(); });
        // If no node is up at this moment, the job may still wait for them.
        const std::int64_t there = up > 0 ? up : std::ssize(nodes_);
        return static_cast<std::size_t>(std::min(there, partition_.max_nodes));
    }

  private:
    void check_node_count(int count) const {
        if (count > std::ssize(nodes_))
            throw MachineError(fmt::format("--nodes={}: partition {} has {} node{}", count, partition_.name,
                                           nodes_.size(), nodes_.size() == 1 ? "" : "s"));
        if (count > partition_.max_nodes)
            throw MachineError(fmt::format("--nodes={}: partition {} allows a job at most {}", count,
                                           partition_.name, partition_.max_nodes));
    }

    int cores_of(const SlurmNode& node) const {
        return static_cast<int>(
            std::min<std::int64_t>(node.cores, partition_.max_cpus_per_node / node.cpus_per_core));
    }

    template <class Test>
    void keep(Test&& test) {
        std::erase_if(nodes_, [&](const SlurmNode& node) { return !test(node); });
    }

    template <class Amount>
    std::int64_t count_with(int least, Amount&& amount) const {
        return std::count_if(nodes_.begin(), nodes_.end(),
                             [&](const SlurmNode& node) { return amount(node) >= least; });
    }

    // Returns how much of a resource to take of each node so that all nodes together give the most: ten nodes
    // with four GPUs each are worth more than one with eight. Returns 0 if no node has any.
    template <class Amount>
    int best_amount(Amount&& amount) const {
        int best = 0;
        std::int64_t best_total = 0;
        for (const SlurmNode& node : nodes_) {
            const std::int64_t with = count_with(amount(node), amount);
            if (with < needs_.nodes.value_or(1)) continue;
            const std::int64_t total =
                amount(node) * std::min<std::int64_t>(with, needs_.nodes.value_or(1 << 30));
            if (total <= best_total) continue;
            best = amount(node);
            best_total = total;
        }
        return best;
    }

    int gpus() const {
        const auto amount = [](const SlurmNode& node) { return node.gpu_count(); };
        if (needs_.device == DeviceChoice::Cpu) return 0;
        if (!needs_.gpus_per_node) {
            const int best = best_amount(amount);
            if (best == 0 && needs_.device == DeviceChoice::Gpu)
                throw MachineError(fmt::format(
                    "run.device = \"gpu\", but {} of partition {} {} GPUs",
                    needs_.nodes.value_or(1) > 1 && count_with(1, amount) > 0 ? "too few nodes" : "no node",
                    partition_.name,
                    needs_.nodes.value_or(1) > 1 && count_with(1, amount) > 0 ? "have" : "has"));
            return needs_.tasks_per_node && needs_.device == DeviceChoice::Gpu
                       ? std::min(best, *needs_.tasks_per_node)
                       : best;
        }
        const int asked = *needs_.gpus_per_node;
        if (const std::int64_t with = count_with(asked, amount); with < needs_.nodes.value_or(1))
            throw MachineError(fmt::format("--gpus-per-node={}: {} of partition {} {} as many", asked,
                                           with == 0 ? "no node" : fmt::format("only {} nodes", with),
                                           partition_.name, with == 0 ? "has" : "have"));
        return asked;
    }

    // Returns the ranks of a node: one for each GPU, or on CPUs one for each socket with its cores.
    int ranks(int gpu_count) const {
        if (needs_.tasks_per_node) {
            if (needs_.device == DeviceChoice::Gpu && *needs_.tasks_per_node > gpu_count)
                throw MachineError(fmt::format(
                    "--tasks-per-node={}: run.device = \"gpu\" and {} GPU{} a node, one for each task",
                    *needs_.tasks_per_node, gpu_count, gpu_count == 1 ? "" : "s"));
            return *needs_.tasks_per_node;
        }
        if (gpu_count > 0) return gpu_count;
        const int cores = best_amount([&](const SlurmNode& node) { return cores_of(node); });
        if (needs_.threads > 0) return std::max(1, cores / needs_.threads);
        int sockets = cores;
        for (const SlurmNode& node : nodes_)
            if (cores_of(node) >= cores) sockets = std::min(sockets, node.sockets);
        return std::max(1, sockets);
    }

    // Returns how many cores to take of each node.
    int cores_for(const NodeShare& share) const {
        const auto amount = [&](const SlurmNode& node) { return cores_of(node); };
        const std::int64_t with = count_with(share.ranks, amount);
        if (with < needs_.nodes.value_or(1)) {
            int most = 0;
            for (const SlurmNode& node : nodes_) most = std::max(most, cores_of(node));
            throw MachineError(fmt::format(
                "{} tasks on a node: {} of partition {} {} as many cores for a job{}", share.ranks,
                with == 0 ? "no node" : fmt::format("only {} nodes", with), partition_.name,
                with == 0 ? "has" : "have", with == 0 ? fmt::format("; at most {}", most) : ""));
        }
        int cores = std::max(share.ranks, best_amount([&](const SlurmNode& node) {
                                 return cores_of(node) >= share.ranks ? cores_of(node) : 0;
                             }));
        if (share.gpus >= share.ranks) cores = std::min(cores, cores_per_gpu * share.ranks);
        if (share.gpus == 0 && needs_.threads > 0) cores = std::min(cores, needs_.threads * share.ranks);
        return cores;
    }

    const SlurmPartition& partition_;
    const LayoutNeeds& needs_;
    std::vector<SlurmNode> nodes_;
};

}  // namespace

const SlurmPartition& find_partition(const SlurmMachine& machine, const std::string& name) {
    std::vector<std::string> names;
    for (const SlurmPartition& partition : machine.partitions) {
        names.push_back(partition.name);
        if (name.empty() ? !partition.is_default : partition.name != name) continue;
        if (partition.state != "UP")
            throw MachineError(
                fmt::format("partition {} takes no jobs: it is {}", partition.name, partition.state));
        return partition;
    }
    if (name.empty())
        throw JobError(fmt::format("there is no default partition: choose one with --partition: {}",
                                   fmt::join(names, ", ")));
    throw JobError(fmt::format("--partition={}: there is no such partition{}; there are: {}", name,
                               did_you_mean(nearest_word(name, names)), fmt::join(names, ", ")));
}

Layout choose_layout(const SlurmMachine& machine, const SlurmPartition& partition, const LayoutNeeds& needs,
                     const std::function<double(const std::vector<SlurmNode>&, const NodeShare&)>& seconds) {
    Chooser chooser(machine, partition, needs);
    Layout layout = chooser.choose();
    std::vector<std::pair<double, std::size_t>> by_speed;
    for (std::size_t n = 0; n < layout.nodes.size(); ++n)
        by_speed.emplace_back(seconds({layout.nodes[n]}, layout.share), n);
    std::stable_sort(by_speed.begin(), by_speed.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<SlurmNode> slowest_first;
    for (const auto& [time, n] : by_speed) slowest_first.push_back(layout.nodes[n]);

    const auto first = [&](std::size_t count) {
        return std::vector<SlurmNode>(slowest_first.begin(),
                                      slowest_first.begin() + static_cast<std::ptrdiff_t>(count));
    };
    std::size_t count = static_cast<std::size_t>(needs.nodes.value_or(1));
    if (!needs.nodes) {
        std::size_t too_few = 0;
        count = chooser.most_nodes();
        layout.nodes_by_target = true;
        while (count - too_few > 1) {
            const std::size_t middle = (too_few + count) / 2;
            (seconds(first(middle), layout.share) <= needs.target_s ? count : too_few) = middle;
        }
    }
    layout.nodes = first(count);
    return layout;
}

}  // namespace voltpile
