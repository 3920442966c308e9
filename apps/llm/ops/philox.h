// The counter-based random number generator Philox4x32-10, for host and GPU code: J. K. Salmon, M. A. Moraes,
// R. O. Dror, D. E. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC11.
#pragma once

#include <cstdint>

#include "llm/ops/host_device.h"

namespace voltpile::llm {

struct PhiloxWords {
    std::uint32_t word[4];
};

VOLTPILE_HOST_DEVICE constexpr PhiloxWords philox4x32_10(PhiloxWords counter, std::uint32_t key0,
                                                         std::uint32_t key1) {
    for (int round = 0; round < 10; ++round) {
        const std::uint64_t a = std::uint64_t{0xD2511F53} * counter.word[0];
        const std::uint64_t b = std::uint64_t{0xCD9E8D57} * counter.word[2];
        counter = {
            {static_cast<std::uint32_t>(b >> 32) ^ counter.word[1] ^ key0, static_cast<std::uint32_t>(b),
             static_cast<std::uint32_t>(a >> 32) ^ counter.word[3] ^ key1, static_cast<std::uint32_t>(a)}};
        key0 += 0x9E3779B9;  // the golden ratio
        key1 += 0xBB67AE85;  // sqrt(3) - 1
    }
    return counter;
}

// Returns u of sampling.h, in [0, 1).
VOLTPILE_HOST_DEVICE constexpr float uniform_of_step(std::uint64_t seed, std::int32_t step) {
    const PhiloxWords words =
        philox4x32_10({{static_cast<std::uint32_t>(step), 0, 0, 0}}, static_cast<std::uint32_t>(seed),
                      static_cast<std::uint32_t>(seed >> 32));
    return static_cast<float>(words.word[0] >> 8) * 0x1p-24f;
}

}  // namespace voltpile::llm
