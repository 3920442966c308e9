// Multiplies quantized activations with quantized weights. The sum over a group of columns is an exact
// integer; the groups' sums are scaled and added in fp32 in the order of the columns, one lane for each
// weight. So a result depends neither on the other rows, nor on the tile, nor on the width of the registers.
#pragma once

#include <utility>

#include "llm/ops/cpu/strip_product.h"

namespace voltpile::llm {
inline namespace VOLTPILE_TARGET {
namespace {

VOLTPILE_INLINE float largest_of(Lanes lanes) {
#if defined(__AVX512F__)
    return _mm512_reduce_max_ps(lanes.v);
#else
    float top = lanes.lane(0);
    for (int i = 1; i < lane_count; ++i) top = lanes.lane(i) > top ? lanes.lane(i) : top;
    return top;
#endif
}

VOLTPILE_INLINE std::int32_t integer_sum(IntLanes lanes) {
#if defined(__AVX512F__)
    return _mm512_reduce_add_epi32((__m512i)lanes.v);
#else
    std::int32_t total = 0;
    for (int i = 0; i < lane_count; ++i) total += lanes.lane(i);
    return total;
#endif
}

void quantize(const float* x, std::int64_t columns, QuantizedBlock* to) {
    for (std::int64_t c = 0; c < columns; c += quantized_columns, ++to, x += quantized_columns) {
        Lanes largest = {}, finite = {};
        for (int i = 0; i < quantized_columns; i += lane_count) {
            const Lanes lanes = Lanes::load(x + i);
            largest = larger(bits_as<float>(bits_as<std::int32_t>(lanes) & 0x7fffffff), largest);
            finite = fma(lanes, Lanes(0.0F), finite);  // 0, or NaN if a number is not finite
        }
        const float top = largest_of(largest);
        const bool usable = sum(finite) == 0.0F;
        const float inverse = usable && top > 1e-30F ? 127 / top : 0;  // 127 / top must be finite
        std::int32_t half_sum[2] = {};
        for (int i = 0; i < quantized_columns; i += lane_count) {
            constexpr float round = 0x1.8p23F;  // adding and subtracting it rounds to an integer
            Lanes scaled = {};
            if (usable) scaled = fma(Lanes::load(x + i), Lanes(inverse), Lanes(round)) - round;
            const IntLanes q = converted<std::int32_t>(scaled);
            typedef std::int8_t Small __attribute__((vector_size(lane_count)));
            const Small small = __builtin_convertvector(q.v, Small);
            __builtin_memcpy(to->q + i, &small, sizeof small);
            half_sum[i / 16] += integer_sum(q);
        }
        const std::int32_t all = half_sum[0] + half_sum[1];
        to->scale = usable ? (inverse > 0 ? top / 127 : 0) : __builtin_nanf("");
        to->sum = to->scale * static_cast<float>(all);
        to->minus_128_sums = -128 * all;
        to->minus_8_sums = -8 * all;
        for (int h = 0; h < 2; ++h) {
            to->minus_32_sums[h] = -32 * half_sum[h];
            to->half_sums[h] = to->scale * static_cast<float>(half_sum[h]);
        }
    }
}

#if defined(__AVX2__)

VOLTPILE_INLINE IntLanes load_q(const std::uint8_t (&bytes)[simd_bytes]) {
    IntLanes lanes;
    __builtin_memcpy(&lanes.v, bytes, simd_bytes);
    return lanes;
}

// Adds the products of `rows` rows with a panel to sums[r * stride]. x: the rows' blocks of the panel's
// columns, x_stride blocks apart.
template <WeightFormat format, int registers, int rows>
__attribute__((noinline)) void multiply_panel(const Panel& panel, int blocks, const QuantizedBlock* x,
                                              std::int64_t x_stride, float* sums) {
    constexpr int groups = quantized_columns / Unpack<format>::group;
    constexpr int steps = group_steps<format>;
    constexpr int stride = panel_registers * lane_count;
    Lanes total[rows][registers];
    for (int r = 0; r < rows; ++r) {
        for (int u = 0; u < registers; ++u) total[r][u] = Lanes::load(sums + r * stride + u * lane_count);
    }
    for (int b = 0; b < blocks; ++b, ++x) {
#pragma GCC unroll 2
        for (int group = 0; group < groups; ++group) {
            GroupSum<format> products[rows][registers];
#pragma GCC unroll 8
            for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 2
                for (int u = 0; u < registers; ++u)
                    products[r][u].begin(offset_sum<format>(x[r * x_stride], group));
            }
#pragma GCC unroll 8
            for (int step = 0; step < steps; ++step) {
                const int at = group * steps + step;
                const auto& q = panel.q[b * group_registers + at];
#pragma GCC unroll 8
                for (int r = 0; r < rows; ++r) {
                    const IntLanes four = broadcast_four(x[r * x_stride].q + 4 * at);
#pragma GCC unroll 2
                    for (int u = 0; u < registers; ++u) products[r][u].add(step, load_q(q[u]), four);
                }
            }
#pragma GCC unroll 8
            for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 2
                for (int u = 0; u < registers; ++u) {
                    const Lanes scale =
                        Lanes::load(panel.scale[b * groups + group][u]) * Lanes(x[r * x_stride].scale);
                    total[r][u] = fma(to_float(products[r][u].sum), scale, total[r][u]);
                }
            }
        }
        constexpr int mins = mins_of_block<format>;
#pragma GCC unroll 2
        for (int min = 0; min < mins; ++min) {
#pragma GCC unroll 8
            for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 2
                for (int u = 0; u < registers; ++u)
                    total[r][u] = fma(Lanes::load(panel.min[b * mins + min][u]),
                                      min_sum<format>(x[r * x_stride], min), total[r][u]);
            }
        }
    }
    for (int r = 0; r < rows; ++r) {
        for (int u = 0; u < registers; ++u) total[r][u].store(sums + r * stride + u * lane_count);
    }
}

template <WeightFormat format, int registers>
VOLTPILE_INLINE void multiply_all(const Panel& panel, int blocks, const QuantizedBlock* x,
                                  std::int64_t x_stride, std::int64_t rows, float* sums) {
    // As many as the registers hold, with an integer and an fp32 sum each.
    constexpr int together = simd_level == CpuLevel::Avx512 ? 4 : 3;
    constexpr int stride = panel_registers * lane_count;
    std::int64_t r = 0;
    for (; r + together <= rows; r += together)
        multiply_panel<format, registers, together>(panel, blocks, x + r * x_stride, x_stride,
                                                    sums + r * stride);
    for (; r < rows; ++r)
        multiply_panel<format, registers, 1>(panel, blocks, x + r * x_stride, x_stride, sums + r * stride);
}

template <WeightFormat format, int registers>
void multiply_strips(const Product& p, std::int64_t first) {
    using Block = Unpack<format>;
    constexpr int stride = panel_registers * lane_count;
    Panel& panel = *reinterpret_cast<Panel*>(p.integer_panel);
    StripBlock blocks_of[registers];
    for (int u = 0; u < registers; ++u) {
        const std::int64_t weight = first + u * lane_count;
        blocks_of[u] = {reinterpret_cast<Bytes>(p.w) + weight / strip_rows * strip_rows * p.row_bytes,
                        static_cast<int>(weight % strip_rows)};
    }
    const std::int64_t x_stride = p.columns / quantized_columns;
    for (std::int64_t i = 0; i < p.rows * stride; ++i) p.sums[i] = 0;
    for (std::int64_t c = 0; c < x_stride; c += panel_blocks) {
        const int blocks = static_cast<int>(x_stride - c < panel_blocks ? x_stride - c : panel_blocks);
        for (int u = 0; u < registers; ++u) {
            for (int b = 0; b < blocks; b += Block::blocks) {
                PanelSink sink{panel, b, u};
                // To the second-level cache: the first is full with the panel and what precedes these blocks.
                if (blocks_of[u].first_lane == 0) prefetch_strip<format, 2>(blocks_of[u].at);
                Block::unpack(blocks_of[u], sink);
                blocks_of[u].advance(Block::bytes);
            }
        }
        multiply_all<format, registers>(panel, blocks, p.quantized + c, x_stride, p.rows, p.sums);
    }
    for (std::int64_t r = 0; r < p.rows; ++r)
        store_sums(p, p.sums + r * stride, r, first, registers * lane_count);
}

template <WeightFormat format>
void integer_product_of(const Product& p) {
    std::int64_t first = p.begin;
    if (p.rows <= rows_without_panel<format>) return multiply_few_rows<format>(p);
    constexpr int together = panel_registers * lane_count;
    for (; first + together <= p.end; first += together) multiply_strips<format, panel_registers>(p, first);
    for (; first < p.end; first += strip_rows) multiply_strips<format, strip_registers>(p, first);
}

// p.format: one of kIntegerProductFormats.
template <std::size_t... i>
void integer_product_in(const Product& p, std::index_sequence<i...>) {
    const auto run = [&]<WeightFormat format>() {
        if (p.format == format) integer_product_of<format>(p);
    };
    (run.template operator()<kIntegerProductFormats[i]>(), ...);
}

void integer_product(const Product& p) {
    integer_product_in(p, std::make_index_sequence<kIntegerProductFormats.size()>());
}
#endif

}  // namespace
}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::llm
