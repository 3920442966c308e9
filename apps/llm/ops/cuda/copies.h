// Copies between plain host memory and the GPU by way of pinned memory.
#pragma once

#include <array>
#include <cstddef>

#include "device/buffer.h"
#include "device/stream.h"
#include "llm/ops/ops.h"

namespace voltpile::llm {

class PinnedCopies {
  public:
    // Enqueued; `from` may change on return. Waits only if four pieces are still on their way.
    void upload(void* to, const void* from, std::size_t bytes, const Stream& stream);
    // Waits for the stream's work.
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
