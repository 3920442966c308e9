// Many pieces of memory out of few allocations. CUDA rounds each of its own up to 2 MiB, which for the
// hundreds of matrices of a model comes to several hundred MB.
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
    static constexpr std::size_t alignment = 256;  // of every piece, in its allocation

    // Owned; may outlive its SlabMemory. Contents start undefined.
    class Piece {
      public:
        Piece() = default;
        ~Piece();
        Piece(Piece&& other) noexcept;
        Piece& operator=(Piece&& other) noexcept;

        std::byte* data() const { return data_; }
        std::size_t bytes() const { return bytes_; }  // as asked for

      private:
        friend SlabMemory;
        Piece(std::shared_ptr<Slab> slab, std::byte* data, std::size_t bytes);

        std::shared_ptr<Slab> slab_;
        std::byte* data_ = nullptr;
        std::size_t bytes_ = 0;
    };

    using Allocate = std::function<void*(std::size_t)>;  // throws if there is not enough
    using Release = std::function<void(void*)>;

    // Of the current GPU, or of whatever the functions stand for. At most the last slab is nearly empty, so
    // slab_bytes are the most that are lost to that.
    explicit SlabMemory(std::size_t slab_bytes = std::size_t{64} << 20, Allocate allocate = allocate_device,
                        Release release = release_device);

    // From a slab with room, or a new one; above half a slab an allocation of its own. A slab is released
    // with its last piece. 0 bytes: an empty piece. What a released piece held may still be read by work
    // that was enqueued before, so all pieces are to be used in the order of one stream, or waited for.
    // Not for several threads at once.
    Piece allocate(std::size_t bytes);

  private:
    std::size_t slab_bytes_;
    Allocate allocate_;
    Release release_;
    std::vector<std::weak_ptr<Slab>> slabs_;  // without allocations for single pieces
};

}  // namespace voltpile
