#include "llm/replica/rank_ops.h"

#include <vector>

#include "base/bind_thread.h"
#include "llm/ops/cpu/cpu_ops.h"
#include "llm/replica/experts_on_host.h"
#if VOLTPILE_CUDA
#include "llm/ops/cuda/cuda_ops.h"
#endif

namespace voltpile::llm {

namespace {

std::vector<int> pus_of(const Plan& plan, int world_rank, const std::vector<int>& cores) {
    const Host& host = plan.host_of(plan.ranks[static_cast<std::size_t>(world_rank)]);
    std::vector<int> pus;
    for (const int core : cores) pus.push_back(host.cores[static_cast<std::size_t>(core)].pu);
    return pus;
}

}  // namespace

std::vector<int> pus_of(const Plan& plan, int world_rank) {
    return pus_of(plan, world_rank, plan.ranks[static_cast<std::size_t>(world_rank)].cores);
}

void bind_to_cores(const Plan& plan, int world_rank) {
    bind_this_thread(pus_of(plan, world_rank));
}

RankOps make_rank_ops(const Plan& plan, int world_rank, [[maybe_unused]] const StageNeeds& stage,
                      const ReplicaRequest& request) {
#if VOLTPILE_CUDA
    if (const int device = plan.ranks[static_cast<std::size_t>(world_rank)].device; device >= 0) {
        CudaOpsSettings settings;
        settings.matrix_bytes = stage.all_weights();
        settings.integer_bytes = stage.integers;
        settings.batch_invariant = request.batch_invariant;
        settings.clamp = request.clamp;
        settings.cores = pus_of(plan, world_rank, expert_cores(plan, world_rank));
        auto ops = make_cuda_ops(device, settings);
        const Stream* const stream = &ops->stream();
        return {std::move(ops), stream};
    }
#endif
    const std::vector<int> pus = pus_of(plan, world_rank);
    bind_this_thread(pus.front());
    return {std::make_unique<CpuOps>(pus, cpu_kernels(cpu_level()), request.clamp), nullptr};
}

}  // namespace voltpile::llm
