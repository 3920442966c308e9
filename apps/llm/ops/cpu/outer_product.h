// Multiplies many rows of x with a panel: a part of the matrix as fp32, in which the numbers of a column are
// adjacent. A step multiplies two registers of weights with one number of each row of a group. A product of a
// row and a weight is summed like that of product.h, so its bits are the same: lane l of a register there
// sums columns l, l + lane_count, and so on. Here a class l of columns is what such a lane sums. Registers
// sum a class from end to end before they sum the next one, and the classes' sums are added at last.
#pragma once

#include <utility>

#include "llm/ops/cpu/formats.h"
#include "llm/ops/cpu/kernels.h"
#include "llm/ops/cpu/row_groups.h"

namespace voltpile::llm {
inline namespace VOLTPILE_TARGET {
namespace {

constexpr int outer_registers = 2;
constexpr int outer_weights = outer_registers * lane_count;
constexpr int group_rows = static_cast<int>(rows_of_group);
static_assert(product_weights % outer_weights == 0);

// The sums of a group: (class, row, weight).
using OuterSums = float[lane_count][group_rows][outer_weights];

// Registers a and b exchange the halves of each 2 * distance lanes that are on the wrong side of the
// diagonal.
template <int distance, std::size_t... l>
VOLTPILE_INLINE void exchange(Lanes& a, Lanes& b, std::index_sequence<l...>) {
    constexpr auto lower = [](int lane) {
        return lane / distance % 2 == 0 ? lane : lane_count + lane - distance;
    };
    constexpr auto upper = [](int lane) {
        return lane / distance % 2 == 0 ? lane + distance : lane_count + lane;
    };
    const Lanes::Numbers first = a.v, second = b.v;
    a = __builtin_shufflevector(first, second, lower(static_cast<int>(l))...);
    b = __builtin_shufflevector(first, second, upper(static_cast<int>(l))...);
}

// Writes column i of a square of registers to register i.
template <int distance = lane_count / 2>
VOLTPILE_INLINE void transpose(Lanes (&square)[lane_count]) {
    if constexpr (distance > 0) {
#pragma GCC unroll 16
        for (int i = 0; i < lane_count; ++i) {
            if (i / distance % 2 == 0)
                exchange<distance>(square[i], square[i + distance], std::make_index_sequence<lane_count>{});
        }
        transpose<distance / 2>(square);
    }
}

// Expands `columns` columns of a weight, and zeros up to a multiple of step_columns.
template <WeightFormat format>
void expand(Bytes w, int columns, float* to) {
    constexpr int together = Step<format>::parts * step_columns;
    for (int c = 0; c + together <= columns; c += together, w += Step<format>::bytes) {
        const Step<format> step(w);
#pragma GCC unroll 8
        for (int part = 0; part < Step<format>::parts; ++part) {
            for (int v = 0; v < step_lanes; ++v, to += lane_count) step.load(part, v).store(to);
        }
    }
    if (const int left = columns % together; left != 0) {  // formats without blocks
        std::uint8_t rest[Step<format>::bytes] = {};
        __builtin_memcpy(rest, w, static_cast<std::size_t>(left * Step<format>::bytes / together));
        const Step<format> step(rest);
        for (int v = 0; v < step_lanes; ++v) step.load(0, v).store(to + v * lane_count);
    }
}

// Expands lane_count weights, or `weights` and the last of them again, and `columns` columns of each, to
// their place in a panel of `steps` steps for each class.
template <WeightFormat format>
__attribute__((noinline)) void fill_panel(Bytes w, std::int64_t row_bytes, int weights, int columns,
                                          int steps, float* to) {
    constexpr int together = 256;  // a multiple of the columns of all blocks
    static_assert(together % (Step<format>::parts * step_columns) == 0);
    constexpr int bytes = together / (Step<format>::parts * step_columns) * Step<format>::bytes;
    float rows[lane_count][together];
    for (int c = 0; c < columns; c += together, w += bytes) {
        const int count = columns - c < together ? columns - c : together;
        for (int i = 0; i < lane_count; ++i)
            expand<format>(w + (i < weights ? i : weights - 1) * row_bytes, count, rows[i]);
        const int padded = (count + step_columns - 1) / step_columns * step_columns;
        for (int s = 0; s < padded / lane_count; ++s) {
            Lanes square[lane_count];
#pragma GCC unroll 16
            for (int i = 0; i < lane_count; ++i) square[i] = Lanes::load(rows[i] + s * lane_count);
            transpose(square);
            float* const step = to + (c / lane_count + s) * outer_weights;
#pragma GCC unroll 16
            for (int l = 0; l < lane_count; ++l) square[l].store(step + l * steps * outer_weights);
        }
    }
}

// Multiplies a group of rows with outer_weights weights.
__attribute__((noinline)) void multiply_group(const float* w, const float* x, int steps, OuterSums& sums) {
    for (int l = 0; l < lane_count; ++l) {
        Lanes sum[outer_registers][group_rows] = {};
#pragma GCC unroll 4
        for (int s = 0; s < steps; ++s, w += outer_weights, x += group_rows) {
            Lanes weights[outer_registers];
#pragma GCC unroll 2
            for (int u = 0; u < outer_registers; ++u) weights[u] = Lanes::load(w + u * lane_count);
#pragma GCC unroll 8
            for (int r = 0; r < group_rows; ++r) {
                const Lanes of_row(x[r]);
#pragma GCC unroll 2
                for (int u = 0; u < outer_registers; ++u) sum[u][r] = fma(weights[u], of_row, sum[u][r]);
            }
        }
#pragma GCC unroll 8
        for (int r = 0; r < group_rows; ++r) {
#pragma GCC unroll 2
            for (int u = 0; u < outer_registers; ++u) sum[u][r].store(sums[l][r] + u * lane_count);
        }
    }
}

// The sum of a register's classes in the order of sum(Lanes).
template <int begin, int distance>
VOLTPILE_INLINE Lanes sum_of_classes(const OuterSums& sums, int r, int u) {
    if constexpr (distance == lane_count)
        return Lanes::load(sums[begin][r] + u * lane_count);
    else
        return sum_of_classes<begin, 2 * distance>(sums, r, u) +
               sum_of_classes<begin + distance, 2 * distance>(sums, r, u);
}

// Sets (first) or adds to `rows` rows of `weights` outputs.
VOLTPILE_INLINE void store_outer(const OuterSums& sums, int rows, int weights, bool first, float* out,
                                 std::int64_t stride) {
    for (int r = 0; r < rows; ++r, out += stride) {
        float total[outer_weights];
#pragma GCC unroll 2
        for (int u = 0; u < outer_registers; ++u)
            sum_of_classes<0, 1>(sums, r, u).store(total + u * lane_count);
        for (int j = 0; j < weights; ++j) out[j] = first ? total[j] : out[j] + total[j];
    }
}

// The part of a product with up to product_weights weights from j on and the panel's columns from c on.
template <WeightFormat format>
void multiply_panel_of(const Product& p, std::int64_t j, std::int64_t c) {
    const int weights = static_cast<int>(p.end - j < product_weights ? p.end - j : product_weights);
    const int columns = static_cast<int>(p.columns - c < product_columns ? p.columns - c : product_columns);
    const int steps = (columns + step_columns - 1) / step_columns * step_lanes;
    const Bytes from = reinterpret_cast<Bytes>(p.w) + j * p.row_bytes +
                       c / (Step<format>::parts * step_columns) * Step<format>::bytes;
    for (int i = 0; i < weights; i += lane_count)
        fill_panel<format>(from + i * p.row_bytes, p.row_bytes, weights - i, columns, steps,
                           p.panel + i / outer_weights * outer_weights * product_columns + i % outer_weights);
    OuterSums sums;
    for (std::int64_t r = 0; r < p.rows; r += group_rows) {
        const int rows = static_cast<int>(p.rows - r < group_rows ? p.rows - r : group_rows);
        const float* const x = p.groups + r / group_rows * numbers_of_group(p.columns) + c * group_rows;
        for (int i = 0; i < weights; i += outer_weights) {
            multiply_group(p.panel + i * product_columns, x, steps, sums);
            store_outer(sums, rows, weights - i < outer_weights ? weights - i : outer_weights, c == 0,
                        p.out + r * p.out_stride + (j - p.begin) + i, p.out_stride);
        }
    }
}

// The product of x in groups. All panels of the same columns are multiplied before the next columns: so these
// columns of x stay in the third-level cache, if not in the second.
template <WeightFormat format>
void outer_product(const Product& p) {
    for (std::int64_t c = 0; c < p.columns; c += product_columns) {
        for (std::int64_t j = p.begin; j < p.end; j += product_weights) multiply_panel_of<format>(p, j, c);
    }
}

// Writes up to rows_of_group rows, (rows, columns), as a group. Of each product_columns columns the order is
// (class, step, row).
void group(const float* x, std::int64_t rows, std::int64_t columns, float* to) {
    for (std::int64_t c = 0; c < columns; c += product_columns) {
        const std::int64_t left = columns - c < product_columns ? columns - c : product_columns;
        const std::int64_t steps = (left + step_columns - 1) / step_columns * step_lanes;
        for (std::int64_t l = 0; l < lane_count; ++l) {
            for (std::int64_t at = l; at < steps * lane_count; at += lane_count, to += group_rows) {
                for (std::int64_t r = 0; r < group_rows; ++r)
                    to[r] = r < rows && at < left ? x[r * columns + c + at] : 0;
            }
        }
    }
}

}  // namespace
}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::llm
