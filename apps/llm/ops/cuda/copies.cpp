#include "llm/ops/cuda/copies.h"

#include <algorithm>
#include <cstring>

#include "llm/ops/cuda/hand_over.h"

namespace voltpile::llm {

void PinnedCopies::upload(void* to, const void* from, std::size_t bytes, const Stream& stream) {
    for (std::size_t at = 0; at < bytes; at += piece_bytes) {
        const std::size_t size = std::min(piece_bytes, bytes - at);
        Piece& piece = up_[next_++ % up_.size()];
        if (piece.used) piece.free.synchronize();
        std::memcpy(piece.memory.data(), static_cast<const std::byte*>(from) + at, size);
        copy_to_device(static_cast<std::byte*>(to) + at, piece.memory.data(), size, stream);
        piece.free.record(stream);
        piece.used = true;
    }
}

void PinnedCopies::download(void* to, const void* from, std::size_t bytes, const Stream& stream) {
    for (std::size_t at = 0; at < bytes; at += piece_bytes) {
        const std::size_t size = std::min(piece_bytes, bytes - at);
        copy_to_host(down_.data(), static_cast<const std::byte*>(from) + at, size, stream);
        stream.synchronize();
        std::memcpy(static_cast<std::byte*>(to) + at, down_.data(), size);
    }
}

void PinnedHostCopy::start(const void* from, std::size_t bytes) {
    launch_copy_to_host(memory_.data(), from, bytes, stream_);
    arrived_.record(stream_);
    bytes_ = bytes;
}

std::span<const std::byte> PinnedHostCopy::wait() {
    arrived_.synchronize();
    return {memory_.data(), bytes_};
}

}  // namespace voltpile::llm
