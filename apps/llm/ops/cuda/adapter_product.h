// The factors of adapters in GPU memory, and the products with them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "device/slab_memory.h"
#include "device/stream.h"
#include "llm/ops/cuda/adapters.h"
#include "llm/ops/cuda/copies.h"
#include "llm/ops/ops.h"

namespace voltpile::llm {

class CudaAdapters final : public AdapterWeights {
  public:
    // limit: half_limit(). Throws DeviceError if the GPU has not enough memory. Waits for the copies.
    CudaAdapters(const AdapterSource& source, SlabMemory& slabs, PinnedCopies& copies, float limit,
                 const Stream& stream);
    // Sets what the factors say; the caller sets the rest.
    AdapterArgs args() const;

  private:
    std::vector<SlabMemory::Piece> factors_;  // of each adapter
    SlabMemory::Piece table_;                 // AdapterEntry of each adapter
    int most_rank_ = 0;                       // padded
    float limit_;
};

// Returns what the factors and the batch say; the caller sets the rest.
AdapterArgs adapters_of_rows(const AdapterWeights& adapters, const BatchView& batch);

// Ops::add_adapters. out: fp16, or fp32 if float_out. scratch: GPU memory. Throws DeviceError if it is too
// small.
void add_cuda_adapters(HiddenRows x, const AdapterWeights& adapters, const BatchView& batch, void* out,
                       bool float_out, int out_columns, std::span<std::uint8_t> scratch,
                       const Stream& stream);

// The second half of Ops::adapted_gated_matmul. batch.adapter is not null. scratch: the same.
void gate_cuda_adapters(HiddenRows x, const AdapterWeights& adapters, const BatchView& batch,
                        const GateArgs& gate, HiddenRows out, std::span<std::uint8_t> scratch,
                        const Stream& stream);

// Ops::adapt_experts and Ops::add_expert_adapters. scratch: the same.
void adapt_cuda_experts(HiddenRows x, const AdapterWeights& adapters, const BatchView& batch,
                        const Routing& routing, FloatRows out, std::span<std::uint8_t> scratch,
                        const Stream& stream);
void add_cuda_expert_adapters(HiddenRows x, const AdapterWeights& adapters, const BatchView& batch,
                              const Routing& routing, FloatRows out, std::span<std::uint8_t> scratch,
                              const Stream& stream);

}  // namespace voltpile::llm
