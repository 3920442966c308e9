// The product of a unit of 4 weight rows, which a lane holds in registers, with rows of x.
#pragma once

#include "llm/ops/cuda/half.cuh"
#include "llm/ops/cuda/quantize.cuh"
#include "llm/ops/cuda/units.cuh"

namespace voltpile::llm {

template <WeightFormat format>
struct UnitProduct {
    using U = Units<format>;
    using Raw = typename U::Raw;
    static constexpr int weights = 16 * U::halves;
    static constexpr bool has_fractions = requires(const Raw& raw) { U::fractions(raw, 0, 0, 0); };
    static constexpr bool has_offset = requires(const Raw& raw) { U::offset(raw, 0, 0); };
    static_assert(U::halves == 2 || (U::scales == 1 && U::zero == 0 && !has_offset),
                  "the sums of x are those of the halves of a unit of 32");

    // Adds the products of the unit with R rows of x to the sums, of which sum[j * R + r] is that of weight
    // row j and row r. x: R rows as quantize.cuh stores them.
    template <int R>
    __device__ __forceinline__ static void add(float (&sum)[4 * R], const Raw& raw, const std::uint8_t* x,
                                               int columns, int unit, int) {
        const auto row = [&](int r) {
            return QuantizedRow{const_cast<std::uint8_t*>(x) + r * quantized_row_bytes(columns), columns};
        };
        const int first_half = unit * U::halves;
        int high[R][4], low[R][4];
#pragma unroll
        for (int n = 0; n < U::halves; ++n) {
            const bool begins = n == 0 || U::scales > 1, ends = n + 1 == U::halves || U::scales > 1;
            int quants[4][4];
#pragma unroll
            for (int j = 0; j < 4; ++j) {
#pragma unroll
                for (int i = 0; i < 4; ++i) quants[j][i] = U::quants(raw, j, n, i);
            }
#pragma unroll
            for (int r = 0; r < R; ++r) {
                const uint4 x_high = *reinterpret_cast<const uint4*>(row(r).high(first_half + n));
                const uint4 x_low = *reinterpret_cast<const uint4*>(row(r).low(first_half + n));
                const int before = U::zero == 0 ? 0 : -U::zero * row(r).scale(first_half)->sum_of_half[n];
#pragma unroll
                for (int j = 0; j < 4; ++j) {
                    high[r][j] = dot_16(quants[j], x_high, begins ? 0 : high[r][j]);
                    low[r][j] = dot_16(quants[j], x_low, begins ? before : before + low[r][j]);
                    if constexpr (has_fractions) {
                        // Without the low bytes of x: they change a product by at most 2^-16 of the largest.
                        int fractions[4];
#pragma unroll
                        for (int i = 0; i < 4; ++i) fractions[i] = U::fractions(raw, j, n, i);
                        low[r][j] = dot_16(fractions, x_high, low[r][j]);
                    }
                }
            }
            if (!ends) continue;
            float scale[4], offset[4];
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                scale[j] = U::scale(raw, j, n);
                if constexpr (has_offset) offset[j] = U::offset(raw, j, n);
            }
#pragma unroll
            for (int r = 0; r < R; ++r) {
                const UnitScale s = *row(r).scale(first_half);
                const float x_sum =
                    s.scale * static_cast<float>(U::scales > 1 ? s.sum_of_half[n]
                                                               : s.sum_of_half[0] + s.sum_of_half[1]);
#pragma unroll
                for (int j = 0; j < 4; ++j) {
                    float& to = sum[j * R + r];
                    const float product = s.scale * static_cast<float>(256 * high[r][j] + low[r][j]);
                    to = fmaf(scale[j], product, to);
                    if constexpr (has_offset) to = fmaf(-offset[j], x_sum, to);
                }
            }
        }
    }
    __device__ static Raw load(const DeviceMatrix& w, int group, int unit) {
        return U::load(w, group, unit);
    }
};

template <>
struct UnitProduct<WeightFormat::F16> {
    struct Raw {
        uint4 halves[4];
    };
    static constexpr int weights = 8;

    template <int R>
    __device__ __forceinline__ static void add(float (&sum)[4 * R], const Raw& raw, const std::uint8_t* x,
                                               int columns, int unit, int rows) {
        float2 w[4][4];
#pragma unroll
        for (int j = 0; j < 4; ++j) {
#pragma unroll
            for (int i = 0; i < 4; ++i) w[j][i] = floats_of(word(raw.halves[j], i));
        }
#pragma unroll
        for (int r = 0; r < R; ++r) {
            // Rows beyond the last repeat it.
            const std::int64_t row = min(r, rows - 1);
            const uint4 values = reinterpret_cast<const uint4*>(x + row * columns * 2)[unit];
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const float2 v = floats_of(word(values, i));
#pragma unroll
                for (int j = 0; j < 4; ++j) {
                    sum[j * R + r] = fmaf(w[j][i].x, v.x, sum[j * R + r]);
                    sum[j * R + r] = fmaf(w[j][i].y, v.y, sum[j * R + r]);
                }
            }
        }
    }
    __device__ static Raw load(const DeviceMatrix& w, int group, int unit) {
        Raw raw;
        const std::uint8_t* from =
            w.quants + (static_cast<std::int64_t>(group) * 4 * w.columns + unit * 8) * 2;
#pragma unroll
        for (int j = 0; j < 4; ++j)
            raw.halves[j] = stream16(from + static_cast<std::int64_t>(j) * w.columns * 2);
        return raw;
    }
};

}  // namespace voltpile::llm
