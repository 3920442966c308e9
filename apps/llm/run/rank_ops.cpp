#include "llm/run/rank_ops.h"

#include <vector>

#include "base/bind_thread.h"
#include "llm/ops/cpu_ops.h"
#if VOLTPILE_CUDA
#include "llm/ops/cuda_ops.h"
#endif

namespace voltpile::llm {
namespace {

std::vector<int> pus_of(const Plan& plan, const RankPlan& rank) {
    std::vector<int> pus;
    for (const int core : rank.cores)
        pus.push_back(plan.host_of(rank).cores[static_cast<std::size_t>(core)].pu);
    return pus;
}

}  // namespace

void bind_to_cores(const Plan& plan, int world_rank) {
    bind_this_thread(pus_of(plan, plan.ranks[static_cast<std::size_t>(world_rank)]));
}

RankOps make_rank_ops(const Plan& plan, int world_rank) {
    const RankPlan& rank = plan.ranks[static_cast<std::size_t>(world_rank)];
#if VOLTPILE_CUDA
    if (rank.device >= 0) {
        auto ops = make_cuda_ops(rank.device);
        const Stream* const stream = &ops->stream();
        return {std::move(ops), stream};
    }
#endif
    const std::vector<int> pus = pus_of(plan, rank);
    bind_this_thread(pus.front());
    return {std::make_unique<CpuOps>(pus), nullptr};
}

}  // namespace voltpile::llm
