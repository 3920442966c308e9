// Weights on their way through shared memory, for wide_product.cuh. Each warp copies the 16 rows that it
// multiplies, a step of 128 columns at a time, and reads them as if they were a matrix of these rows.
#pragma once

#include "llm/ops/cuda/row_units.cuh"
#include "llm/ops/cuda/sm90/warpgroup.cuh"
#include "llm/ops/cuda/tiles.cuh"

namespace voltpile::llm {

// Bytes of the planes (matrix.h): quants of a row and step; scales and high of the four rows of a group and
// unit; super of a group. row_stride: between rows of quants in shared memory; with it lanes that read at the
// same time hit different banks.
template <WeightFormat format>
struct StagedBytes {
    static constexpr bool blocks_of_256 =
        format == WeightFormat::Q4_K || format == WeightFormat::Q5_K || format == WeightFormat::Q6_K;
    static constexpr int row = format == WeightFormat::Q8_0 ? step_columns : step_columns / 2;
    static constexpr int row_stride = format == WeightFormat::Q8_0 ? row + 16 : row;
    static constexpr int scales = format == WeightFormat::MXFP4 ? 4 : 8;
    static constexpr int high = format == WeightFormat::Q5_K ? 16 : format == WeightFormat::Q6_K ? 32 : 0;
    static constexpr int super = !blocks_of_256 ? 0 : format == WeightFormat::Q6_K ? 8 : 16;
};

constexpr int warp_rows = 16;  // of weights
constexpr int step_units = step_columns / 32;
constexpr int warp_groups = warp_rows / rows_in_group;

// A step of a warp's weights.
template <WeightFormat format>
struct alignas(16) StagedWeights {
    using Bytes = StagedBytes<format>;
    std::uint8_t quants[warp_rows * Bytes::row_stride];
    std::uint8_t high[warp_groups * step_units * Bytes::high + (Bytes::high == 0 ? 16 : 0)];
    std::uint8_t super[warp_groups * Bytes::super + (Bytes::super == 0 ? 16 : 0)];
    std::uint8_t scales[warp_groups * step_units * Bytes::scales];
};

// Reads unit lane % 4 of the rows lane / 4 and lane / 4 + 8.
template <WeightFormat format>
__device__ __forceinline__ void read_staged(const StagedWeights<format>& from,
                                            typename RowUnit<format>::Raw (&to)[2]) {
    using Bytes = StagedBytes<format>;
    const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        const int group = half * (warp_groups / 2) + lane / 16;
        DeviceMatrix four;  // rows
        four.columns = Bytes::row_stride * step_columns / Bytes::row;
        static_assert(Bytes::row_stride * step_columns / Bytes::row / 32 == step_units);
        four.quants = from.quants + group * (rows_in_group * Bytes::row_stride);
        four.scales = from.scales + group * (step_units * Bytes::scales);
        four.high = from.high + group * (step_units * Bytes::high);
        four.super = from.super + group * Bytes::super;
        to[half] = RowUnit<format>::load(four, lane / 4 % rows_in_group, lane % 4);
    }
}

// Copies `bytes` from global to shared memory.
template <int bytes>
__device__ __forceinline__ void copy_alone(std::uint32_t shared, const std::uint8_t* from) {
    static_assert(bytes == 4 || bytes == 8 || bytes == 16);
    if constexpr (bytes == 16) {
        asm volatile("cp.async.cg.shared.global.L2::256B [%0], [%1], 16;" ::"r"(shared), "l"(from)
                     : "memory");
    } else {
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared), "l"(from), "n"(bytes)
                     : "memory");
    }
}

// A warp's rows of the weights of a tile: 16 of one matrix, or 8 of the gate and as many of `up`. Each lane
// has its pieces of 16 bytes of quants, and of the other planes those of a group and unit, or of a group.
template <WeightFormat format, bool gated>
class WarpWeights {
    using Bytes = StagedBytes<format>;
    static constexpr int pieces = Bytes::row / 16, rows_at_once = 32 / pieces;
    static constexpr int pairs = warp_groups * step_units;
    static constexpr int high_copies = Bytes::high / 16;  // of a pair

  public:
    __device__ void go_to(const TileArgs& args, int tile) {
        const TilePlace place = place_of<gated>(args, tile);
        const DeviceMatrix matrix[2] = {place.weights, gated ? place.up : place.weights};
        const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
        const int first = (place.first_row + warp * (gated ? warp_rows / 2 : warp_rows)) / rows_in_group;
        const int last = (place.weights.rows - 1) / rows_in_group;
        // Groups that are not there: the last one again, whose results nobody wants.
        const auto group_of = [&](int group) -> std::int64_t {
            return min(first + (gated ? group % (warp_groups / 2) : group), last);
        };
        const int columns = matrix[0].columns;
        row_bytes_ = columns / step_columns * Bytes::row + columns % step_columns * Bytes::row / step_columns;
        last_unit_ = columns / 32 - 1;
#pragma unroll
        for (int i = 0; i < warp_rows / rows_at_once; ++i) {
            const int row = i * rows_at_once + lane / pieces;
            quants_[i] = matrix[i * rows_at_once / (warp_rows / 2)].quants +
                         (group_of(row / rows_in_group) * rows_in_group + row % rows_in_group) * row_bytes_;
        }
        const auto of_group = [&](int group, const auto& plane) {
            return group < warp_groups / 2 ? plane(matrix[0]) : plane(matrix[1]);
        };
        const int group = lane % pairs / step_units;
        scales_ = of_group(group, [](const DeviceMatrix& w) { return w.scales; }) +
                  group_of(group) * (columns / 32) * Bytes::scales;
        if constexpr (Bytes::high > 0) {
            const int of = lane / high_copies % pairs / step_units;
            high_ = of_group(of, [](const DeviceMatrix& w) { return w.high; }) +
                    group_of(of) * (columns / 32) * Bytes::high + lane % high_copies * 16;
        }
        if constexpr (Bytes::super > 0) {
            const int of = lane % warp_groups;
            super_ = of_group(of, [](const DeviceMatrix& w) { return w.super; }) +
                     group_of(of) * (columns / 256) * Bytes::super;
        }
    }
    // Starts copies of step `step` of the tile. Columns that are not there: others.
    __device__ __forceinline__ void copy(int step, StagedWeights<format>& to) const {
        const int lane = static_cast<int>(threadIdx.x) % 32;
        const int offset = min(step * Bytes::row + lane % pieces * 16, row_bytes_ - 16);
        const std::uint32_t quants =
            shared_address(to.quants) + lane / pieces * Bytes::row_stride + lane % pieces * 16;
#pragma unroll
        for (int i = 0; i < warp_rows / rows_at_once; ++i)
            copy_alone<16>(quants + i * (rows_at_once * Bytes::row_stride), quants_[i] + offset);
        if (lane < pairs)
            copy_alone<Bytes::scales>(
                shared_address(to.scales) + lane * Bytes::scales,
                scales_ + min(step * step_units + lane % step_units, last_unit_) * Bytes::scales);
        if constexpr (Bytes::high > 0) {
            if (lane < pairs * high_copies)
                copy_alone<16>(shared_address(to.high) + lane * 16,
                               high_ + min(step * step_units + lane / high_copies % step_units, last_unit_) *
                                           Bytes::high);
        }
        if constexpr (Bytes::super > 0) {
            if (lane < warp_groups)
                copy_alone<Bytes::super>(shared_address(to.super) + lane * Bytes::super,
                                         super_ + min(step * step_units, last_unit_) / 8 * Bytes::super);
        }
    }

  private:
    const std::uint8_t* quants_[warp_rows / rows_at_once];
    const std::uint8_t *scales_ = nullptr, *high_ = nullptr, *super_ = nullptr;
    int row_bytes_ = 0, last_unit_ = 0;
};

}  // namespace voltpile::llm
