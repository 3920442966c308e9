// Matrices of weights in the GPU's memory.
#pragma once

#include <memory>
#include <span>

#include "device/buffer.h"
#include "device/slab_memory.h"
#include "device/stream.h"
#include "llm/ops/cuda/matrix.h"
#include "llm/ops/weight_matrix.h"

namespace voltpile::llm {

class CudaMatrix final : public WeightMatrix {
  public:
    CudaMatrix(const MatrixSource& source, const DeviceMatrix& planes, SlabMemory::Piece memory)
        : WeightMatrix(source.format, source.rows, source.columns),
          planes_(planes),
          memory_(std::move(memory)) {}
    const DeviceMatrix& planes() const { return planes_; }

  private:
    DeviceMatrix planes_;
    SlabMemory::Piece memory_;
};

inline const CudaMatrix& cuda(const WeightMatrix& matrix) {
    return static_cast<const CudaMatrix&>(matrix);
}

// Two pieces of pinned memory: while one is on its way, the other is filled. Made at the first matrix.
class LoadStaging {
  public:
    // Waits until the piece may be written again.
    std::byte* next(std::size_t bytes);
    void sent(const Stream& stream);
    int piece() const { return piece_; }

  private:
    PinnedBuffer<std::byte> pieces_[2];
    Event free_[2];
    bool used_[2] = {false, false};
    int piece_ = 1;
};

// Copies the blocks and repacks them. The source has been read on return. scratch: of the GPU.
std::unique_ptr<WeightMatrix> load_cuda_matrix(const MatrixSource& source, SlabMemory& slabs,
                                               LoadStaging& staging, std::span<std::uint8_t> scratch,
                                               const Stream& stream);

}  // namespace voltpile::llm
