// The second product with the factors of an adapter: sums of few scaled rows.
#pragma once

#include "llm/ops/cpu/kernels.h"
#include "llm/ops/cpu/lanes.h"

namespace voltpile::llm {
inline namespace VOLTPILE_TARGET {
namespace {

// Sums for `rows` rows and columns j to j + lanes * lane_count - 1.
template <int rows, int lanes>
VOLTPILE_INLINE void sum_lanes(const ScaledRows& s, std::int64_t row, std::int64_t j) {
    Lanes sums[rows][lanes] = {};
    for (std::int64_t k = 0; k < s.count; ++k) {
        Lanes w[lanes];
#pragma GCC unroll 4
        for (int v = 0; v < lanes; ++v) w[v] = Lanes::load(s.w + k * s.stride + j + v * lane_count);
#pragma GCC unroll 4
        for (int r = 0; r < rows; ++r) {
            const Lanes factor(s.x[(row + r) * s.x_stride + k]);
#pragma GCC unroll 4
            for (int v = 0; v < lanes; ++v) sums[r][v] = fma(w[v], factor, sums[r][v]);
        }
    }
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r) {
        float* const out = s.out[row + r] + j;
#pragma GCC unroll 4
        for (int v = 0; v < lanes; ++v) {
            const Lanes sum = s.adds ? Lanes::load(out + v * lane_count) + sums[r][v] : sums[r][v];
            sum.store(out + v * lane_count);
        }
    }
}

template <int rows>
void sum_rows(const ScaledRows& s, std::int64_t row) {
    constexpr int lanes = rows > 1 ? 2 : 4;  // so that the sums fit in 16 registers
    std::int64_t j = s.begin;
    for (; j + lanes * lane_count <= s.end; j += lanes * lane_count) sum_lanes<rows, lanes>(s, row, j);
    for (; j + lane_count <= s.end; j += lane_count) sum_lanes<rows, 1>(s, row, j);
    for (; j < s.end; ++j)
        for (std::int64_t r = row; r < row + rows; ++r) {
            float sum = 0;
            for (std::int64_t k = 0; k < s.count; ++k) sum += s.w[k * s.stride + j] * s.x[r * s.x_stride + k];
            s.out[r][j] = s.adds ? s.out[r][j] + sum : sum;
        }
}

void scaled_rows(const ScaledRows& s) {
    std::int64_t row = 0;
    for (; row + 4 <= s.rows; row += 4) sum_rows<4>(s, row);
    for (; row < s.rows; ++row) sum_rows<1>(s, row);
}

}  // namespace
}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::llm
