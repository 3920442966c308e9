// Loads weight matrices into GPU memory.
#pragma once

#include <memory>
#include <span>

#include "device/buffer.h"
#include "device/slab_memory.h"
#include "device/stream.h"
#include "llm/ops/cuda/integer_weights.h"
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
    // Of this matrix and those that products multiply together with it; nullptr: not as integers.
    const IntegerWeights* integers() const { return integers_.get(); }
    void set_integers(std::unique_ptr<const IntegerWeights> integers) { integers_ = std::move(integers); }

  private:
    DeviceMatrix planes_;
    SlabMemory::Piece memory_;
    std::unique_ptr<const IntegerWeights> integers_;
};

inline const CudaMatrix& cuda(const WeightMatrix& matrix) {
    return static_cast<const CudaMatrix&>(matrix);
}
inline CudaMatrix& cuda(WeightMatrix& matrix) {
    return static_cast<CudaMatrix&>(matrix);
}

constexpr std::size_t load_piece_bytes = std::size_t{32} << 20;  // of a copy to the GPU

// Two pinned buffers: the host fills one while the other is being copied. Allocated with the first matrix.
class LoadStaging {
  public:
    // Switches to the other buffer, waits until it may be overwritten, and returns it with at least `bytes`
    // bytes.
    std::byte* next(std::size_t bytes);
    // Call after enqueuing the copy of the current buffer.
    void sent(const Stream& stream);
    int piece() const { return piece_; }  // the index of the current buffer

  private:
    PinnedBuffer<std::byte> pieces_[2];
    Event free_[2];
    bool used_[2] = {false, false};
    int piece_ = 1;
};

// Returns the planes of a matrix that files hold in `format`, which begin at `memory`, of
// plane_bytes().total() bytes.
DeviceMatrix planes_in(const std::byte* memory, WeightFormat format, std::int64_t rows, std::int64_t columns);

// Copies the blocks to the GPU and repacks them, see matrix.h. The source has been read on return. scratch:
// GPU memory. Throws DeviceError if the matrix is too large for the kernels or the GPU's memory.
std::unique_ptr<WeightMatrix> load_cuda_matrix(const MatrixSource& source, SlabMemory& slabs,
                                               LoadStaging& staging, std::span<std::uint8_t> scratch,
                                               const Stream& stream);

}  // namespace voltpile::llm
