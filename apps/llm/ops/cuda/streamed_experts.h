// Experts of host memory on the GPU for one pass: the blocks of a layer are copied to GPU memory and repacked
// there, as loading does, and the next layer overwrites them. For passes with many rows, for which cores
// would take longer than the copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "device/slab_memory.h"
#include "device/stream.h"
#include "llm/ops/cuda/copies.h"
#include "llm/ops/cuda/experts.h"
#include "llm/ops/cuda/loader.h"
#include "llm/ops/host_experts.h"
#include "llm/ops/host_ops.h"

namespace voltpile::llm {

class StreamedExperts {
  public:
    // scratch: GPU memory that blocks pass through. threads: that read the weights. All references must
    // outlive this object.
    StreamedExperts(SlabMemory& slabs, LoadStaging& staging, PinnedCopies& copies,
                    std::span<std::uint8_t> scratch, std::size_t threads, const Stream& stream)
        : slabs_(slabs),
          staging_(staging),
          copies_(copies),
          scratch_(scratch),
          threads_(threads),
          stream_(stream) {}

    // Whether the GPU has kernels for these experts.
    static bool takes(const ExpertLayer& layer);

    // Allocates memory for a layer. Throws DeviceError if there is too little.
    void prepare(const ExpertLayer& layer);

    // Enqueues the copies of a layer's experts, which have been read on return. prepare() has seen the layer.
    // Not within a recording. The matrices are valid until the next load().
    void load(const ExpertLayer& layer);
    const ExpertMatrices& gate() const { return gate_; }
    const ExpertMatrices& up() const { return up_; }
    const ExpertMatrices& down() const { return down_; }

  private:
    // Rows of a matrix on their way to its planes.
    struct Part {
        const HostWeights* from;
        DeviceMatrix to;
        std::int64_t begin, end;
        std::size_t place;  // bytes in the staging buffer
    };
    ExpertMatrices place(const ExpertWeights& experts, std::byte*& at);
    void add(const WeightMatrix& from, const DeviceMatrix& to);
    void send();

    SlabMemory& slabs_;
    LoadStaging& staging_;
    PinnedCopies& copies_;
    std::span<std::uint8_t> scratch_;
    std::size_t threads_;
    const Stream& stream_;
    SlabMemory::Piece memory_;
    ExpertMatrices gate_, up_, down_;
    std::vector<Part> parts_;  // of the next copy
    std::size_t filled_ = 0;   // bytes of these
};

}  // namespace voltpile::llm
