#include "plan/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "base/error.h"
#include "base/format.h"
#include "plan/grid.h"
#include "plan/sweep_memory.h"

namespace voltpile {
namespace {

std::string size_text(std::int64_t bytes) {
    return bytes_text(static_cast<double>(bytes));
}

// Returns the largest grid whose points need at most `has` bytes. Empty for other jobs than sweeps.
std::string grid_for(const Plan& plan, std::span<const SweepAxis> axes, std::int64_t has,
                     const std::function<std::int64_t(std::int64_t points)>& needed) {
    if (!plan.workload.gpu_state_bytes) return "";
    return largest_grid_text(axes, [&](const std::vector<std::int64_t>& counts) {
        return needed(std::accumulate(counts.begin(), counts.end(), std::int64_t{1}, std::multiplies<>())) <=
               has;
    });
}

void check_gpu(const Plan& plan, std::size_t index, std::span<const SweepAxis> axes) {
    const RankPlan& rank = plan.ranks[index];
    if (rank.gpu < 0) return;
    const Host& host = plan.host_of(rank);
    const std::int64_t has = host.gpus[static_cast<std::size_t>(rank.gpu)].memory_bytes;
    if (has == 0 || rank.gpu_memory_bytes <= has) return;
    throw MachineError(fmt::format(
        "the job does not fit: rank {} needs {} of memory on {} of {}, which has {}: choose fewer points or "
        "fields, or run.device = \"cpu\"{}",
        index, size_text(rank.gpu_memory_bytes), processor_text(plan, rank), host.name, size_text(has),
        grid_for(plan, axes, has,
                 [&](std::int64_t points) { return sweep_gpu_bytes(plan.workload, points); })));
}

void check_host(const Plan& plan, std::size_t index, std::span<const SweepAxis> axes) {
    const Host& host = plan.topology.hosts[index];
    std::vector<const RankPlan*> here;
    std::int64_t needed = 0, largest = 0;
    for (const RankPlan& rank : plan.ranks) {
        if (static_cast<std::size_t>(rank.host) != index) continue;
        here.push_back(&rank);
        needed += rank.memory_bytes;
        largest = std::max(largest, rank.memory_bytes);
    }
    if (host.memory_bytes == 0 || needed <= host.memory_bytes) return;
    const std::int64_t fit = host.memory_bytes / largest;
    throw MachineError(
        fmt::format("the job does not fit: the {} rank{} on {} need{} {} of memory, and it has {}{}{}",
                    here.size(), here.size() == 1 ? "" : "s", host.name, here.size() == 1 ? "s" : "",
                    size_text(needed), size_text(host.memory_bytes),
                    fit > 0 ? fmt::format("; {} rank{} would fit", fit, fit == 1 ? "" : "s") : "",
                    grid_for(plan, axes, host.memory_bytes, [&](std::int64_t points) {
                        std::int64_t all = 0;
                        for (const RankPlan* rank : here)
                            all += sweep_host_bytes(plan.workload, points, rank->range_points,
                                                    cuda_use(rank->gpu >= 0, !host.gpus.empty()));
                        return all;
                    })));
}

}  // namespace

void check_memory(const Plan& plan, std::span<const SweepAxis> axes) {
    for (std::size_t r = 0; r < plan.ranks.size(); ++r) check_gpu(plan, r, axes);
    for (std::size_t h = 0; h < plan.topology.hosts.size(); ++h) check_host(plan, h, axes);
}

}  // namespace voltpile
