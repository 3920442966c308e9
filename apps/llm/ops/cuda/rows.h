// Operations on rows of activations on the GPU: norms, gathers, and what comes between QKV and the attention.
#pragma once

#include <cstdint>

#include "device/stream.h"
#include "llm/ops/ops.h"

namespace voltpile::llm {

// The sentinel's word in the GPU's memory: place and row of the first sum that was not finite.
constexpr std::uint64_t sentinel_clear = ~std::uint64_t{0};
constexpr std::uint64_t sentinel_place(const SentinelPlace& place) {  // the row comes into the low 32 bits
    return (static_cast<std::uint64_t>(static_cast<std::uint16_t>(place.layer)) << 48) |
           (static_cast<std::uint64_t>(static_cast<std::uint16_t>(place.operation)) << 32);
}

// See Ops::add_rms_norm. delta may be nullptr. rows may be 0. limit: half_limit().
void launch_add_rms_norm(float* x, const float* delta, const float* weight, float eps, void* out, int rows,
                         int columns, float limit, std::uint64_t place, std::uint64_t* sentinel,
                         const Stream& stream);

void launch_gather(const void* x, int row_bytes, const std::int32_t* rows_wanted, int wanted, void* out,
                   const Stream& stream);

void launch_rope_and_store(void* qkv, const QkvSettings& settings, const BatchView& batch,
                           const KvLayer& cache, float limit, const Stream& stream);

}  // namespace voltpile::llm
