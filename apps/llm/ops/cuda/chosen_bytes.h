// A table of eight bytes in two words: the instruction prmt (PTX ISA), on GPUs and elsewhere.
#pragma once

#include <cstdint>

#include "llm/ops/host_device.h"

namespace voltpile::llm {

// Returns four bytes, for the low four nibbles of v: the low three bits of a nibble name a byte of `first` (0
// to 3) or `second` (4 to 7). If its high bit is 1, the sign of that byte fills the result: 255 or 0.
// __byte_perm() would spend an instruction on masking that bit.
VOLTPILE_HOST_DEVICE inline std::uint32_t chosen_bytes(std::uint32_t first, std::uint32_t second,
                                                       std::uint32_t v) {
    std::uint32_t out = 0;
#if defined(__CUDA_ARCH__)
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(out) : "r"(first), "r"(second), "r"(v));
#else
    for (int b = 0; b < 4; ++b) {
        const std::uint32_t nibble = v >> 4 * b & 15, from = nibble & 7;
        const std::uint32_t byte = (from < 4 ? first : second) >> 8 * (from % 4) & 255;
        out |= (nibble < 8 ? byte : (byte >> 7) * 255) << 8 * b;
    }
#endif
    return out;
}

}  // namespace voltpile::llm
