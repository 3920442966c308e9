#include "llm/run/rank_ops.h"

#include "base/bind_thread.h"
#include "llm/ops/cpu_ops.h"
#if VOLTPILE_CUDA
#include "llm/ops/cuda_ops.h"
#endif

namespace voltpile::llm {

RankOps make_rank_ops(const Plan& plan, int world_rank) {
    const RankPlan& rank = plan.ranks[static_cast<std::size_t>(world_rank)];
    std::vector<int> pus;
    for (const int core : rank.cores)
        pus.push_back(plan.host_of(rank).cores[static_cast<std::size_t>(core)].pu);
#if VOLTPILE_CUDA
    if (rank.device >= 0) {
        bind_this_thread(-1);  // NCCL's threads are bound as the one that calls, and need cores of their own
        auto ops = make_cuda_ops(rank.device);
        const Stream* const stream = &ops->stream();
        return {std::move(ops), stream};
    }
#endif
    bind_this_thread(pus.front());
    return {std::make_unique<CpuOps>(pus), nullptr};
}

}  // namespace voltpile::llm
