// The operations on one GPU, on one stream: no call but load_matrix, download and synchronize waits or takes
// memory, so that passes can be captured into CUDA graphs.
#pragma once

#include <memory>

#include "device/stream.h"
#include "llm/model/gpu_memory.h"
#include "llm/ops/ops.h"

namespace voltpile::llm {

struct CudaOpsSettings {
    std::size_t scratch_bytes = gpu_scratch_bytes;
    // Of all matrices that will be loaded (gpu_bytes()), where that is known: taken at once, so that nothing
    // is lost between them.
    std::size_t matrix_bytes = 0;
    // A row's result has the same bits whatever else is in the batch, also of products.
    bool batch_invariant = false;
    bool clamp = false;  // see ops.h
};

// What CudaOps offers beyond Ops, for capturing.
class GpuOps : public Ops {
  public:
    virtual const Stream& stream() const = 0;
};

// Of the GPU `device` (device_info), which becomes the calling thread's current one. Calls have to come from
// threads with that GPU current. DeviceError, also where there is no CUDA.
std::unique_ptr<GpuOps> make_cuda_ops(int device, const CudaOpsSettings& settings = {});

}  // namespace voltpile::llm
