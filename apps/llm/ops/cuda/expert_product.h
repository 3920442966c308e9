// Selects the algorithm of the products with experts on the GPU and runs it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "device/buffer.h"
#include "device/slab_memory.h"
#include "device/stream.h"
#include "llm/ops/cuda/copies.h"
#include "llm/ops/cuda/experts.h"
#include "llm/ops/ops.h"

namespace voltpile::llm {

// The matrices of a layer's experts, with their table for the kernels.
class CudaExperts final : public ExpertWeights {
  public:
    // slabs: for the table. experts: loaded on this GPU.
    CudaExperts(std::vector<std::unique_ptr<WeightMatrix>> experts, std::unique_ptr<OpsMemory> bias,
                SlabMemory& slabs, PinnedCopies& copies, const Stream& stream);
    const ExpertMatrices& matrices() const { return matrices_; }

  private:
    SlabMemory::Piece offsets_;
    ExpertMatrices matrices_;
};

inline const CudaExperts& cuda(const ExpertWeights& experts) {
    return static_cast<const CudaExperts&>(experts);
}

class CudaExpertProduct {
  public:
    // See CudaProduct.
    CudaExpertProduct(const Stream& stream, std::span<std::uint8_t> scratch, int multiprocessors,
                      bool batch_invariant, float limit)
        : stream_(stream),
          scratch_(scratch),
          multiprocessors_(multiprocessors),
          batch_invariant_(batch_invariant),
          limit_(limit),
          counter_(1) {
        set_to_zero(counter_.data(), counter_.bytes(), stream);
    }

    // Ops::route, Ops::gated_experts and Ops::sum_experts. gate and up have the same format. Throws
    // DeviceError if the scratch memory is too small.
    void route(HiddenRows x, const RouterSettings& settings, const BatchView& batch, const Routing& to,
               const AdapterWeights* adapters, const NormArgs& norm);
    // Whether route() takes a norm, which has no delta.
    bool norms_in_router(HiddenRows x, const BatchView& batch, const AdapterWeights* adapters) const;
    void run_gated(HiddenRows x, const ExpertMatrices& gate, const ExpertMatrices& up, Activation activation,
                   const Routing& routing, const float* added, HiddenRows out);
    // Ops::norm_route_gated, only if norms_in_router(). Returns false, and does nothing, if the product
    // cannot choose the experts.
    bool choose_and_run_gated(HiddenRows x, const NormArgs& norm, const RouterSettings& settings,
                              const BatchView& batch, const Routing& to, const ExpertMatrices& gate,
                              const ExpertMatrices& up, Activation activation, HiddenRows out);
    void sum(HiddenRows x, const ExpertMatrices& down, const Routing& routing, FloatRows out);

  private:
    ExpertArgs gated_args(HiddenRows x, const ExpertMatrices& gate, const ExpertMatrices& up,
                          Activation activation, const Routing& routing, HiddenRows out) const;
    bool by_vectors(const ExpertArgs& args) const;
    void multiply_vectors(ExpertArgs& args, std::size_t used);
    void sum_of_tiles(ExpertArgs& args, std::size_t used, FloatRows out);

    const Stream& stream_;
    std::span<std::uint8_t> scratch_;
    int multiprocessors_;
    bool batch_invariant_;
    float limit_;
    DeviceBuffer<int> counter_;  // of the router
};

}  // namespace voltpile::llm
