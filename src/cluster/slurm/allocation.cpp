#include "cluster/slurm/allocation.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <sstream>

#include "base/error.h"
#include "base/process.h"
#include "cluster/slurm/machine.h"

namespace voltpile {

int least_tasks_per_node(std::string_view list) {
    int least = 0;
    while (!list.empty()) {
        int tasks = 0;
        const auto [end, error] = std::from_chars(list.data(), list.data() + list.size(), tasks);
        if (error != std::errc() || tasks < 1) return 0;
        least = least == 0 ? tasks : std::min(least, tasks);
        list.remove_prefix(static_cast<std::size_t>(end - list.data()));
        list.remove_prefix(std::min(list.find(','), list.size()));  // "(x2)"
        if (list.starts_with(",")) list.remove_prefix(1);
    }
    return least;
}

std::optional<Allocation> this_allocation() {
    const char* job = std::getenv("SLURM_JOB_ID");
    const char* nodes = std::getenv("SLURM_JOB_NODELIST");
    if (!job || !nodes) return std::nullopt;
    Allocation allocation{job, {}};
    // Without --ntasks or --ntasks-per-node the list holds the CPUs of each node.
    const char* tasks = std::getenv("SLURM_NTASKS") ? std::getenv("SLURM_TASKS_PER_NODE") : nullptr;
    std::istringstream names(ask_slurm({"scontrol", "show", "hostnames", nodes}));
    for (std::string name; names >> name;) {
        HostEntry& entry = allocation.nodes.emplace_back();
        entry.name = name;
        entry.slots = tasks ? least_tasks_per_node(tasks) : 0;
    }
    if (allocation.nodes.empty())
        throw MachineError(std::string("Slurm names no nodes for the list ") + nodes);
    return allocation;
}

bool srun_supports_pmix() {
    const ProcessResult types = run_process({{"srun", "--mpi=list"}, "", {}, std::chrono::seconds(10)});
    return (types.out + types.err).find("pmix") != std::string::npos;
}

}  // namespace voltpile
