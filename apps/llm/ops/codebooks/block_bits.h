// Fields of the blocks of codebook formats, for CPUs and GPUs.
#pragma once

#include <cstdint>

#include "llm/ops/host_device.h"

namespace voltpile::llm {

// Little-endian, at any address.
VOLTPILE_HOST_DEVICE inline std::uint16_t block_half(const std::uint8_t* from) {
    return static_cast<std::uint16_t>(from[0] | from[1] << 8);
}
VOLTPILE_HOST_DEVICE inline std::uint32_t block_word(const std::uint8_t* from) {
    return block_half(from) | static_cast<std::uint32_t>(block_half(from + 2)) << 16;
}
// Returns the signs of 8 weights from 7 of them: the number of negative ones is even.
VOLTPILE_HOST_DEVICE inline std::uint32_t even_signs(std::uint32_t seven) {
    std::uint32_t odd = seven ^ seven >> 4;
    odd ^= odd >> 2;
    odd ^= odd >> 1;
    return seven | (odd & 1) << 7;
}

}  // namespace voltpile::llm
