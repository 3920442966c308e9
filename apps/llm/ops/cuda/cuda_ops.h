// The operations on one GPU, all on one stream, but for experts in host memory (host_experts.h). Only
// allocate, load_matrix, download, synchronize and take_sentinel wait or allocate memory, so passes can be
// captured into CUDA graphs.
#pragma once

#include <memory>
#include <vector>

#include "device/stream.h"
#include "llm/model/gpu_memory.h"
#include "llm/ops/ops.h"

namespace voltpile::llm {

struct CudaOpsSettings {
    std::size_t scratch_bytes = gpu_scratch_bytes;
    // The total size of all matrices that will be loaded (gpu_bytes()), or 0 if unknown. Allocated at once to
    // avoid fragmentation.
    std::size_t matrix_bytes = 0;
    // The most that copies of weights for products of integers take, see Ops::allow_integers().
    std::size_t integer_bytes = 0;
    // Makes matrix products, too, bit-identical for any other rows of the batch.
    bool batch_invariant = false;
    bool clamp = false;  // see ops.h
    // The logical processors of the threads that compute experts in host memory (CudaHostExperts); -1:
    // unbound.
    std::vector<int> cores{-1};
};

// Ops with access to the stream, for collectives and events.
class GpuOps : public Ops {
  public:
    virtual const Stream& stream() const = 0;
};

// Creates the operations of GPU `device` (see device_info()) and makes it the calling thread's current GPU.
// It must be current in every thread that calls the operations. Throws DeviceError if that fails, or if
// Voltpile was built without CUDA.
std::unique_ptr<GpuOps> make_cuda_ops(int device, const CudaOpsSettings& settings = {});

}  // namespace voltpile::llm
