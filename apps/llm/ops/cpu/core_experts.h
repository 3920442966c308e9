// Experts in host memory, computed by cores for rows that a GPU has routed.
#pragma once

#include <cstdint>
#include <vector>

#include "llm/ops/cpu/cpu_ops.h"
#include "llm/ops/host_experts.h"

namespace voltpile::llm {

// The rows of a pass in host memory, with their experts as Ops::route() leaves them.
struct RoutedRows {
    const std::uint16_t* x = nullptr;       // fp16 (rows, columns)
    const std::int32_t* expert = nullptr;   // (rows, used); -1: on another rank, or no row
    const float* weight = nullptr;          // (rows, used)
    const std::int32_t* adapter = nullptr;  // (rows), see BatchView; nullptr: no row has one
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    int used = 0;
};

class CoreExperts {
  public:
    // pus: see CpuOps. The thread that calls sum() counts as the first; it may change from call to call.
    explicit CoreExperts(const std::vector<int>& pus, const CpuKernels& kernels = cpu_kernels(cpu_level()))
        : ops_(pus, kernels) {}

    // Loads the layers.
    CpuOps& ops() { return ops_; }

    // Allocates memory for passes of shape.rows over the layer. Without it, sum() does. Throws
    // std::bad_alloc.
    void prepare(const HostExpertShape& shape, const ExpertLayer& layer);

    // out[r, :] = the weighted sum over the experts of row r that this rank has, as run_experts() computes
    // it, without a shared expert; 0 for rows without experts. out: fp32 (rows, rows of down). Throws
    // std::bad_alloc.
    void sum(const RoutedRows& rows, const ExpertLayer& layer, float* out);

  private:
    void grow_for(std::int64_t rows, std::int64_t columns, int used, const ExpertLayer& layer);

    CpuOps ops_;
    std::vector<float> x_;
    std::vector<float> gated_, added_;
    std::vector<std::int32_t> routing_;
};

}  // namespace voltpile::llm
