// The operations on one GPU, on one stream: no call but load_matrix, download and synchronize waits or takes
// memory, so that passes can be captured into CUDA graphs.
#pragma once

#include <memory>

#include "device/stream.h"
#include "llm/ops/ops.h"

namespace voltpile::llm {

struct CudaOpsSettings {
    // For intermediate results of single operations: weights as fp16 for long prompts, partial sums.
    std::size_t scratch_bytes = std::size_t{320} << 20;
};

// What cuBLAS has besides: as NVIDIA advises for Hopper, enough for all.
constexpr std::size_t cublas_bytes = std::size_t{32} << 20;

// What CudaOps offers beyond Ops, for capturing.
class GpuOps : public Ops {
  public:
    virtual const Stream& stream() const = 0;
};

// Of the GPU `device` (device_info), which becomes the calling thread's current one. Calls have to come from
// threads with that GPU current. DeviceError, also where there is no CUDA.
std::unique_ptr<GpuOps> make_cuda_ops(int device, const CudaOpsSettings& settings = {});

}  // namespace voltpile::llm
