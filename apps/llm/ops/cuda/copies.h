// Copies between pageable host memory and the GPU through pinned buffers.
#pragma once

#include <array>
#include <cstddef>

#include "device/buffer.h"
#include "device/stream.h"
#include "llm/ops/ops.h"

namespace voltpile::llm {

class PinnedCopies {
  public:
    // Enqueues a copy; `from` may change on return. Waits only if all four pinned buffers are in use.
    void upload(void* to, const void* from, std::size_t bytes, const Stream& stream);
    // Copies to the host and waits for all work on the stream.
    void download(void* to, const void* from, std::size_t bytes, const Stream& stream);

  private:
    static constexpr std::size_t piece_bytes = std::size_t{256} << 10;
    struct Piece {
        PinnedBuffer<std::byte> memory{piece_bytes};
        Event free;
        bool used = false;
    };
    std::array<Piece, 4> up_;
    std::size_t next_ = 0;
    PinnedBuffer<std::byte> down_{piece_bytes};
};

// A HostCopy of at most `most_bytes` bytes on `stream`, which must outlive it.
class PinnedHostCopy final : public HostCopy {
  public:
    PinnedHostCopy(std::size_t most_bytes, const Stream& stream) : memory_(most_bytes), stream_(stream) {}
    void start(const void* from, std::size_t bytes) override;
    std::span<const std::byte> wait() override;

  private:
    PinnedBuffer<std::byte> memory_;
    const Stream& stream_;
    Event arrived_;
    std::size_t bytes_ = 0;
};

}  // namespace voltpile::llm
