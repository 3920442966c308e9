// Multiplies rows of x with weights (rows of a matrix). Each pair of a row and a weight has one register of
// partial sums, which accumulates 32 columns at a time in order and is reduced after product_columns columns.
// The order of summation is the same for any tile size, and by panels (outer_product.h).
#pragma once

#include "llm/ops/cpu/formats.h"
#include "llm/ops/cpu/formats_256.h"
#include "llm/ops/cpu/formats_32.h"
#include "llm/ops/cpu/formats_64.h"
#include "llm/ops/cpu/kernels.h"
#include "llm/ops/cpu/outer_product.h"

namespace voltpile::llm {
inline namespace VOLTPILE_TARGET {

// No symbol of these may reach the linker, see base/simd.h.
namespace {

// The operands of one tile: 1, 2 or 4 weights by up to 4 rows.
struct Tile {
    Bytes w;  // at the first column of the first weight
    std::int64_t row_bytes;
    const float* x;  // at the first column of the first row
    std::int64_t x_stride;
    int columns;
    float* out;
    std::int64_t out_stride;
    bool first;  // the first columns: sets out; otherwise adds to it
};

template <WeightFormat format, int weights, int rows>
VOLTPILE_INLINE void add_part(const Step<format> (&step)[weights], int part, const float* x,
                              std::int64_t x_stride, Lanes (&partial)[weights][rows]) {
#pragma GCC unroll 8
    for (int v = 0; v < step_lanes; ++v) {
        Lanes lanes[rows];
#pragma GCC unroll 8
        for (int r = 0; r < rows; ++r) lanes[r] = Lanes::load(x + r * x_stride + v * lane_count);
#pragma GCC unroll 8
        for (int j = 0; j < weights; ++j) {
            const Lanes w = step[j].load(part, v);
#pragma GCC unroll 8
            for (int r = 0; r < rows; ++r) partial[j][r] = fma(w, lanes[r], partial[j][r]);
        }
    }
}

template <WeightFormat format, int weights>
struct Steps;
template <WeightFormat format>
struct Steps<format, 1> {
    Step<format> step[1];
    VOLTPILE_INLINE Steps(Bytes w, std::int64_t) : step{Step<format>(w)} {}
};
template <WeightFormat format>
struct Steps<format, 2> {
    Step<format> step[2];
    VOLTPILE_INLINE Steps(Bytes w, std::int64_t row_bytes)
        : step{Step<format>(w), Step<format>(w + row_bytes)} {}
};
template <WeightFormat format>
struct Steps<format, 4> {
    Step<format> step[4];
    VOLTPILE_INLINE Steps(Bytes w, std::int64_t row_bytes)
        : step{Step<format>(w), Step<format>(w + row_bytes), Step<format>(w + 2 * row_bytes),
               Step<format>(w + 3 * row_bytes)} {}
};

// streams: the weights come from memory; requests those of the next tile, which the processor does not
// foresee.
template <WeightFormat format, int weights, int rows, bool streams = false>
__attribute__((noinline)) void multiply(const Tile& tile) {
    constexpr int columns = Step<format>::parts * step_columns;
    Lanes partial[weights][rows] = {};
    Bytes w = tile.w;
    const float* x = tile.x;
    int c = 0;
    for (; c + columns <= tile.columns; c += columns, w += Step<format>::bytes) {
        if constexpr (streams) {
            constexpr int near = 512;  // from the second-level cache to the first
            for (int j = 0; j < weights; ++j) {
                for (int i = 0; i < Step<format>::bytes; i += 64) {
                    __builtin_prefetch(w + (weights + j) * tile.row_bytes + i, 0, 2);
                    __builtin_prefetch(w + j * tile.row_bytes + near + i);
                }
            }
        }
        const Steps<format, weights> steps(w, tile.row_bytes);
#pragma GCC unroll 8
        for (int part = 0; part < Step<format>::parts; ++part, x += step_columns)
            add_part<format, weights, rows>(steps.step, part, x, tile.x_stride, partial);
    }
    if (c < tile.columns) {  // formats without blocks: the remaining columns, padded with zeros
        std::uint8_t w_rest[weights * Step<format>::bytes] = {};
        float x_rest[rows * step_columns] = {};
        const int left = tile.columns - c;
        for (int j = 0; j < weights; ++j)
            __builtin_memcpy(w_rest + j * Step<format>::bytes, w + j * tile.row_bytes,
                             static_cast<std::size_t>(left * Step<format>::bytes / step_columns));
        for (int r = 0; r < rows; ++r)
            __builtin_memcpy(x_rest + r * step_columns, x + r * tile.x_stride,
                             static_cast<std::size_t>(left) * sizeof(float));
        const Steps<format, weights> steps(w_rest, Step<format>::bytes);
        add_part<format, weights, rows>(steps.step, 0, x_rest, step_columns, partial);
    }
    for (int r = 0; r < rows; ++r) {
        for (int j = 0; j < weights; ++j) {
            float& out = tile.out[r * tile.out_stride + j];
            out = tile.first ? sum(partial[j][r]) : out + sum(partial[j][r]);
        }
    }
}

// The instructions of AVX2 and AVX-512 that load 16-bit numbers convert them, so memory is what takes the
// time.
template <WeightFormat format>
constexpr bool loads_convert = simd_level != CpuLevel::Baseline &&
                               (format == WeightFormat::F16 || format == WeightFormat::BF16);

// Multiplies a tile whose weights still have to come from memory, or are in a cache (see loads_convert).
template <WeightFormat format, int weights, int rows>
VOLTPILE_INLINE void multiply_tile(const Tile& tile, bool from_memory) {
    if (loads_convert<format> && from_memory)
        multiply<format, weights, rows, loads_convert<format>>(tile);
    else
        multiply<format, weights, rows>(tile);
}

// Multiplies groups of `together` rows of x by all weights and advances to the rows that are left. The rows
// of a group stay in the first-level cache meanwhile. first: the weights still have to come from memory.
template <WeightFormat format, int together>
VOLTPILE_INLINE void multiply_groups(Tile& tile, std::int64_t weights, std::int64_t& rows, bool& first) {
    for (; rows >= together; rows -= together, first = false) {
        Tile at = tile;
        std::int64_t j = 0;
        for (; j + 4 <= weights; j += 4, at.w += 4 * at.row_bytes, at.out += 4)
            multiply_tile<format, 4, together>(at, first);
        for (; j < weights; ++j, at.w += at.row_bytes, ++at.out)
            multiply_tile<format, 1, together>(at, first);
        tile.x += together * tile.x_stride;
        tile.out += together * tile.out_stride;
    }
}

// Multiplies all rows of x with `weights` weights.
template <WeightFormat format>
VOLTPILE_INLINE void multiply_weights(Tile tile, std::int64_t weights, std::int64_t rows) {
    // As many rows as fit: the partial sums need registers; AVX-512 has 32, the others have 16.
    constexpr int most = simd_level == CpuLevel::Avx512 ? 6 : simd_level == CpuLevel::Avx2 ? 3 : 2;
    bool first = true;
    multiply_groups<format, most>(tile, weights, rows, first);
    if constexpr (most > 4) multiply_groups<format, 4>(tile, weights, rows, first);
    if constexpr (most > 2) multiply_groups<format, 2>(tile, weights, rows, first);
    multiply_groups<format, 1>(tile, weights, rows, first);
}

// The operands of weights from j on and the columns from c on.
template <WeightFormat format>
VOLTPILE_INLINE Tile tile_at(const Product& p, std::int64_t j, std::int64_t c) {
    const std::int64_t left = p.columns - c;
    return {reinterpret_cast<Bytes>(p.w) + j * p.row_bytes +
                c / (Step<format>::parts * step_columns) * Step<format>::bytes,
            p.row_bytes,
            p.x + c,
            p.columns,
            static_cast<int>(left < product_columns ? left : product_columns),
            p.out + (j - p.begin),
            p.out_stride,
            c == 0};
}

// One row of x: memory is what takes the time, so two rows of the matrix are read from end to end.
template <WeightFormat format>
void multiply_one_row(const Product& p) {
    std::int64_t j = p.begin;
    for (; j + 2 <= p.end; j += 2) {
        for (std::int64_t c = 0; c < p.columns; c += product_columns)
            multiply<format, 2, 1, true>(tile_at<format>(p, j, c));
    }
    for (std::int64_t c = 0; j < p.end && c < p.columns; c += product_columns)
        multiply<format, 1, 1, true>(tile_at<format>(p, j, c));
}

template <WeightFormat format>
void product_of(const Product& p) {
    if (p.rows == 1) return multiply_one_row<format>(p);
    if (p.groups != nullptr) return outer_product<format>(p);
    for (std::int64_t j = p.begin; j < p.end; j += product_weights) {
        const std::int64_t weights = p.end - j < product_weights ? p.end - j : product_weights;
        for (std::int64_t c = 0; c < p.columns; c += product_columns)
            multiply_weights<format>(tile_at<format>(p, j, c), weights, p.rows);
    }
}

// The fewest rows for which it pays to expand weights once to a panel, instead of in every tile.
std::int64_t rows_for_panel(WeightFormat format) {
    if (format != WeightFormat::F16 && format != WeightFormat::BF16 && format != WeightFormat::F32) return 8;
    return simd_level == CpuLevel::Avx512 ? INT64_MAX : 48;
}

template <int format = 0>
void product(const Product& p) {
    if constexpr (format < static_cast<int>(kWeightFormats.size())) {
        constexpr auto candidate = static_cast<WeightFormat>(format);
        // integer_product multiplies these formats, which are packed.
        constexpr bool mine = simd_level == CpuLevel::Baseline || !has_integer_product(candidate);
        if constexpr (mine) {
            if (p.format == candidate) return product_of<candidate>(p);
        }
        product<format + 1>(p);
    }
}

}  // namespace
}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::llm
