// For tests of channels: buffers on the host or on the GPU whose contents identify their origin.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "comm/channel/channel.h"
#include "device/buffer.h"
#include "device/stream.h"

namespace voltpile {

// Returns bytes that depend on the seed and on their position.
inline std::vector<std::uint8_t> pattern(std::size_t bytes, std::uint64_t seed) {
    std::vector<std::uint8_t> out(bytes);
    std::uint64_t state = seed * 0x9E3779B97F4A7C15U + 1;
    std::size_t i = 0;
    for (; i < bytes; i += 8) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        std::memcpy(out.data() + i, &state, std::min<std::size_t>(8, bytes - i));
    }
    return out;
}

class TestBuffer {
  public:
    TestBuffer(MemoryKind kind, std::size_t bytes) : kind_(kind), host_(bytes, 0xEE) {
        if (kind_ == MemoryKind::Host) return;
        gpu_ = DeviceBuffer<std::uint8_t>(bytes);
        set(host_);
    }
    Memory memory() { return {kind_ == MemoryKind::Host ? host_.data() : gpu_.data(), host_.size(), kind_}; }
    void set(const std::vector<std::uint8_t>& bytes) {
        host_ = bytes;
        if (kind_ == MemoryKind::Host || bytes.empty()) return;
        const Stream stream;
        copy_to_device(gpu_.data(), host_.data(), host_.size(), stream);
        stream.synchronize();
    }
    std::vector<std::uint8_t> get() {
        if (kind_ == MemoryKind::Host || host_.empty()) return host_;
        const Stream stream;
        copy_to_host(host_.data(), gpu_.data(), host_.size(), stream);
        stream.synchronize();
        return host_;
    }

  private:
    MemoryKind kind_;
    std::vector<std::uint8_t> host_;
    DeviceBuffer<std::uint8_t> gpu_;
};

}  // namespace voltpile
