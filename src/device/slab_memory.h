// Cuts many pieces of memory from few allocations. CUDA rounds each allocation up to 2 MiB, which wastes
// several hundred MB for the hundreds of matrices of a model.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "device/memory.h"

namespace voltpile {

class SlabMemory {
    class Slab;

  public:
    static constexpr std::size_t alignment = 256;  // of every piece within its allocation
    static constexpr std::size_t default_slab_bytes = std::size_t{16} << 20;

    // An owned piece of memory. It may outlive its SlabMemory. Its contents start undefined.
    class Piece {
      public:
        Piece() = default;
        ~Piece();
        Piece(Piece&& other) noexcept;
        Piece& operator=(Piece&& other) noexcept;

        std::byte* data() const { return data_; }
        std::size_t bytes() const { return bytes_; }  // as requested

      private:
        friend SlabMemory;
        Piece(std::shared_ptr<Slab> slab, std::byte* data, std::size_t bytes);

        std::shared_ptr<Slab> slab_;
        std::byte* data_ = nullptr;
        std::size_t bytes_ = 0;
    };

    using Allocate = std::function<void*(std::size_t)>;  // throws if there is not enough memory
    using Release = std::function<void(void*)>;

    // Takes slabs from the current GPU, or from the given functions.
    explicit SlabMemory(std::size_t slab_bytes = default_slab_bytes, Allocate allocate = allocate_device,
                        Release release = release_device);

    // Sets the size of the next slab. Pass the sum of all known pieces, so that no room is lost between them.
    void expect(std::size_t bytes) { expected_ = bytes; }

    // Returns a piece from a slab with room, else from a new slab; a piece above half a slab gets an
    // allocation of its own. 0 bytes give an empty piece. A slab is released with its last piece. Work
    // enqueued earlier may still read the memory of a released piece, so use all pieces in the order of one
    // stream, or synchronize. Not thread-safe.
    Piece allocate(std::size_t bytes);

  private:
    std::size_t slab_bytes_;
    std::size_t expected_ = 0;
    Allocate allocate_;
    Release release_;
    std::vector<std::weak_ptr<Slab>> slabs_;  // excludes allocations for single pieces
};

}  // namespace voltpile
