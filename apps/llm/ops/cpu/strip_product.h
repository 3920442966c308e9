// Multiplies quantized activations of a few rows with strips of weights, which it reads in the order of
// memory and never stores unpacked.
#pragma once

#include "llm/ops/cpu/group_sum.h"
#include "llm/ops/cpu/kernels.h"

namespace voltpile::llm {
inline namespace VOLTPILE_TARGET {
namespace {

#if defined(__AVX2__)
constexpr int strip_registers = strip_rows / lane_count;
static_assert(strip_registers >= 1 && product_weights % strip_rows == 0);

// Prefetches what follows in memory: a strip's blocks lie one after the other.
template <WeightFormat format, int locality>
VOLTPILE_INLINE void prefetch_strip(Bytes at) {
    constexpr int ahead = 16384;
    for (int i = 0; i < strip_rows * Unpack<format>::bytes; i += 64)
        __builtin_prefetch(at + ahead + i, 0, locality);
}

// Stores the sums of a row with weights first to first + count - 1, as far as the product asks for them.
VOLTPILE_INLINE void store_sums(const Product& p, const float* sums, std::int64_t row, std::int64_t first,
                                std::int64_t count) {
    const std::int64_t end = first + count < p.end ? first + count : p.end;
    __builtin_memcpy(p.out + row * p.out_stride + (first - p.begin), sums,
                     static_cast<std::size_t>(end - first) * sizeof(float));
}

// Multiplies what it is given with `rows` rows at once. The same operations as multiply_panel's.
template <WeightFormat format, int rows>
struct RowsSink {
    static_assert(Unpack<format>::bytes == info(format).block_bytes);
    static constexpr int groups = quantized_columns / Unpack<format>::group;
    static constexpr int steps = group_steps<format>;
    static constexpr int blocks = Unpack<format>::blocks;
    const QuantizedBlock* x;  // of the block's columns
    std::int64_t x_stride;    // blocks from row to row
    Lanes total[rows];
    GroupSum<format> products[blocks * groups][rows];
    Lanes scales[blocks * groups];
    Lanes mins[blocks * mins_of_block<format> + 1];  // C++ has no empty arrays

    VOLTPILE_INLINE void scale(int group, Lanes lanes) { scales[group] = lanes; }
    VOLTPILE_INLINE void min(int group, Lanes lanes) { mins[group] = lanes; }
    VOLTPILE_INLINE void q(int block, int step, IntLanes bytes) {
        const int group = block * groups + step / steps;
#pragma GCC unroll 4
        for (int r = 0; r < rows; ++r) {
            const QuantizedBlock& of_row = x[r * x_stride + block];
            if (step % steps == 0) products[group][r].begin(offset_sum<format>(of_row, step / steps));
            products[group][r].add(step % steps, bytes, of_row.q + 4 * step);
        }
    }
    VOLTPILE_INLINE void done(int first, int count) {
#pragma GCC unroll 4
        for (int b = first; b < first + count; ++b) {
#pragma GCC unroll 4
            for (int r = 0; r < rows; ++r) {
                const QuantizedBlock& of_row = x[r * x_stride + b];
#pragma GCC unroll 2
                for (int group = b * groups; group < (b + 1) * groups; ++group)
                    total[r] =
                        fma(to_float(products[group][r].sum), scales[group] * Lanes(of_row.scale), total[r]);
#pragma GCC unroll 2
                for (int min = 0; min < mins_of_block<format>; ++min)
                    total[r] =
                        fma(mins[b * mins_of_block<format> + min], min_sum<format>(of_row, min), total[r]);
            }
        }
    }
};

// `rows` rows of `blocks` blocks, x_stride blocks apart, and a strip of weights. sums: (rows, strip_rows).
template <WeightFormat format, int rows>
__attribute__((noinline)) void multiply_strip(Bytes strip, const QuantizedBlock* x, std::int64_t x_stride,
                                              std::int64_t blocks, float* sums) {
    using Block = Unpack<format>;
    // Blocks of 32 weights are read in the order of memory. Blocks of 256 are not, and their many requests at
    // once would fill the first-level cache's buffers, so they go to the second-level cache.
    constexpr int locality = Block::blocks == 1 ? 3 : 2;
    Lanes total[rows][strip_registers] = {};
    for (std::int64_t b = 0; b < blocks; b += Block::blocks, strip += strip_rows * Block::bytes) {
        prefetch_strip<format, locality>(strip);
#pragma GCC unroll 2
        for (int u = 0; u < strip_registers; ++u) {
            RowsSink<format, rows> sink;
            sink.x = x + b;
            sink.x_stride = x_stride;
#pragma GCC unroll 4
            for (int r = 0; r < rows; ++r) sink.total[r] = total[r][u];
            Block::unpack(StripBlock{strip, u * lane_count}, sink);
#pragma GCC unroll 4
            for (int r = 0; r < rows; ++r) total[r][u] = sink.total[r];
        }
    }
    for (int r = 0; r < rows; ++r)
        for (int u = 0; u < strip_registers; ++u) total[r][u].store(sums + r * strip_rows + u * lane_count);
}

// Up to this many rows are multiplied with the strips; with more, it pays to unpack these to a panel. Blocks
// of 256 weights need more registers than AVX2 has.
template <WeightFormat format>
constexpr int rows_without_panel = simd_level == CpuLevel::Avx512 ? 8
                                   : Unpack<format>::blocks == 1  ? 4
                                                                  : 2;

template <WeightFormat format, int rows>
VOLTPILE_INLINE void multiply_rows_with_strip(const Product& p, std::int64_t first, std::int64_t& row) {
    const std::int64_t stride = quantized_stride(p.columns);
    for (; row + rows <= p.rows; row += rows) {
        multiply_strip<format, rows>(reinterpret_cast<Bytes>(p.w) + first * p.row_bytes,
                                     p.quantized + row * stride, stride, p.columns / quantized_columns,
                                     p.sums);
        for (int r = 0; r < rows; ++r) store_sums(p, p.sums + r * strip_rows, row + r, first, strip_rows);
    }
}

template <WeightFormat format>
void multiply_few_rows(const Product& p) {
    for (std::int64_t first = p.begin; first < p.end; first += strip_rows) {
        std::int64_t row = 0;
        if constexpr (simd_level == CpuLevel::Avx512) {
            multiply_rows_with_strip<format, 4>(p, first, row);
            multiply_rows_with_strip<format, 3>(p, first, row);
        }
        multiply_rows_with_strip<format, 2>(p, first, row);
        multiply_rows_with_strip<format, 1>(p, first, row);
    }
}
#endif

}  // namespace
}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::llm
