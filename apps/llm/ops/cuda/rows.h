// Operations on rows of activations on the GPU: RMS norm, and the steps between the QKV product and
// attention.
#pragma once

#include <cstdint>

#include "device/stream.h"
#include "llm/ops/batch_view.h"
#include "llm/ops/operands.h"

namespace voltpile::llm {

// The sentinel is one word in GPU memory: the place of the first non-finite sum, and its lowest row there.
constexpr std::uint64_t sentinel_clear = ~std::uint64_t{0};
// Returns the word for a place; the kernel adds the row in the low 32 bits.
constexpr std::uint64_t sentinel_place(const SentinelPlace& place) {
    return (static_cast<std::uint64_t>(static_cast<std::uint16_t>(place.layer)) << 48) |
           (static_cast<std::uint64_t>(static_cast<std::uint16_t>(place.operation)) << 32);
}

// Ops::add_rms_norm. delta, bias and weight may be nullptr, rows may be 0. limit: half_limit().
void launch_add_rms_norm(float* x, const float* delta, const float* bias, const float* weight, float eps,
                         void* out, int rows, int columns, float limit, std::uint64_t place,
                         std::uint64_t* sentinel, const Stream& stream);

// Ops::rms_norm and Ops::sum_squares. columns: of a row of x or qkv.
void launch_rms_norm(float* x, const float* weight, float eps, int rows, int columns, std::uint64_t place,
                     std::uint64_t* sentinel, const Stream& stream);
void launch_sum_squares(const void* qkv, const QkvSettings& settings, int rows, int columns, float limit,
                        float* sums, const Stream& stream);

// out[r, c] += x[r, c], and then bias[c] if there is a bias, for c < columns. x: (rows, columns). out: row
// stride out_columns.
void launch_add_rows(const float* x, const float* bias, int rows, int columns, float* out, int out_columns,
                     const Stream& stream);

// Ops::rope_and_store. limit: half_limit().
void launch_rope_and_store(void* qkv, const QkvSettings& settings, const BatchView& batch,
                           const KvLayer& cache, float limit, const Stream& stream);

// Rotates blocks of `order` numbers of `heads` adjacent heads in each of `count` rows in place, see
// KvElement. rows: fp16 (count, columns). limit: half_limit().
void launch_rotate_heads(void* rows, int count, int columns, int heads, int head_dim, int order, float limit,
                         const Stream& stream);

}  // namespace voltpile::llm
