// Multiplies quantized activations with quantized weights. The sum over a group of columns is an exact
// integer; the groups' sums are scaled and added in fp32 in the order of the columns, one lane for each
// weight. So a result depends neither on the other rows, nor on the tile, nor on the width of the registers.
#pragma once

#include <utility>

#include "llm/ops/cpu/strip_product.h"
#include "llm/ops/cpu/tile_rows.h"

namespace voltpile::llm {
inline namespace VOLTPILE_TARGET {
namespace {

#if defined(__AVX2__)
VOLTPILE_INLINE IntLanes load_q(const std::uint8_t (&bytes)[simd_bytes]) {
    IntLanes lanes;
    __builtin_memcpy(&lanes.v, bytes, simd_bytes);
    return lanes;
}

// Adds the products of `rows` rows with a panel to sums[r * panel_weights]. x: the rows' blocks of
// the panel's columns, x_stride blocks apart.
template <WeightFormat format, int registers, int rows>
__attribute__((noinline)) void multiply_panel(const Panel& panel, int blocks, const QuantizedBlock* x,
                                              std::int64_t x_stride, float* sums) {
    constexpr int groups = quantized_columns / Unpack<format>::group;
    constexpr int steps = group_steps<format>;
    Lanes total[rows][registers];
    for (int r = 0; r < rows; ++r) {
        for (int u = 0; u < registers; ++u)
            total[r][u] = Lanes::load(sums + r * panel_weights + u * lane_count);
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
        for (int u = 0; u < registers; ++u) total[r][u].store(sums + r * panel_weights + u * lane_count);
    }
}

// No tile registers: see AmxTiles.
struct NoTiles {
    static constexpr bool usable = false;
    explicit NoTiles(int) {}
    void release() {}
};

template <WeightFormat format, int registers, class Tiles>
VOLTPILE_INLINE void multiply_all([[maybe_unused]] Tiles& tiles, const Panel& panel, int blocks,
                                  const QuantizedBlock* x, std::int64_t x_stride, std::int64_t rows,
                                  float* sums) {
#if defined(__AVX512F__)
    if constexpr (Tiles::usable) {
        if (rows >= tile_rows)
            return multiply_rows_by_tiles<format, registers>(tiles, panel, blocks, x, x_stride, rows, sums);
    }
#endif
    // As many as the registers hold, with an integer and an fp32 sum each.
    constexpr int together = simd_level == CpuLevel::Avx512 ? 4 : 3;
    std::int64_t r = 0;
    for (; r + together <= rows; r += together)
        multiply_panel<format, registers, together>(panel, blocks, x + r * x_stride, x_stride,
                                                    sums + r * panel_weights);
    for (; r < rows; ++r)
        multiply_panel<format, registers, 1>(panel, blocks, x + r * x_stride, x_stride,
                                             sums + r * panel_weights);
}

// Adds the products of all rows with weights `first` and following, and the columns of `blocks` blocks from
// block `c` on, to sums[r * panel_weights].
template <WeightFormat format, int registers, class Tiles>
void multiply_columns(Tiles& tiles, const Product& p, std::int64_t first, std::int64_t c, int blocks,
                      float* sums) {
    using Block = Unpack<format>;
    Panel& panel = *reinterpret_cast<Panel*>(p.integer_panel);
    for (int u = 0; u < registers; ++u) {
        const std::int64_t weight = first + u * lane_count, strip = weight / strip_rows * strip_rows;
        StripBlock from{reinterpret_cast<Bytes>(p.w) + strip * p.row_bytes +
                            c / Block::blocks * strip_rows * Block::bytes,
                        static_cast<int>(weight % strip_rows)};
        for (int b = 0; b < blocks; b += Block::blocks) {
            PanelSink sink{panel, b, u};
            // To the second-level cache: the first is full with the panel and what precedes these blocks.
            if (from.first_lane == 0) prefetch_strip<format, 2>(from.at);
            Block::unpack(from, sink);
            from.advance(Block::bytes);
        }
    }
    multiply_all<format, registers>(tiles, panel, blocks, p.quantized + c, quantized_stride(p.columns),
                                    p.rows, sums);
}

template <WeightFormat format, class Tiles>
void integer_product_of(const Product& p) {
    if (p.rows <= rows_without_panel<format>) return multiply_few_rows<format>(p);
    Tiles tiles(Unpack<format>::group);
    const auto sums_of = [&](std::int64_t first) { return p.sums + (first - p.begin) * p.rows; };
    const std::int64_t panels = (p.end - p.begin + panel_weights - 1) / panel_weights;
    __builtin_memset(p.sums, 0, static_cast<std::size_t>(panels * panel_weights * p.rows) * sizeof(float));
    // All panels of some columns, then those of the next ones: x stays in the second-level cache meanwhile.
    const std::int64_t all = p.columns / quantized_columns;
    for (std::int64_t c = 0; c < all; c += panel_blocks) {
        const int blocks = static_cast<int>(all - c < panel_blocks ? all - c : panel_blocks);
        for (std::int64_t first = p.begin; first < p.end; first += panel_weights) {
            if (first + panel_weights - strip_rows < p.end)
                multiply_columns<format, panel_registers>(tiles, p, first, c, blocks, sums_of(first));
            else
                multiply_columns<format, strip_registers>(tiles, p, first, c, blocks, sums_of(first));
        }
    }
    tiles.release();
    for (std::int64_t first = p.begin; first < p.end; first += panel_weights) {
        for (std::int64_t r = 0; r < p.rows; ++r)
            store_sums(p, sums_of(first) + r * panel_weights, r, first, panel_weights);
    }
}

// p.format: one of kIntegerProductFormats.
template <class Tiles, std::size_t... i>
void integer_product_in(const Product& p, std::index_sequence<i...>) {
    const auto run = [&]<WeightFormat format>() {
        if (p.format == format) integer_product_of<format, Tiles>(p);
    };
    (run.template operator()<kIntegerProductFormats[i]>(), ...);
}

template <class Tiles>
void integer_product(const Product& p) {
    integer_product_in<Tiles>(p, std::make_index_sequence<kIntegerProductFormats.size()>());
}
#endif

}  // namespace
}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::llm
