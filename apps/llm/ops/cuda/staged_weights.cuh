// Weights on their way through shared memory by asynchronous copies. Each warp copies the rows that it
// multiplies, a step of 128 columns at a time, and reads them as if they were a matrix of these rows.
#pragma once

#include "llm/ops/cuda/async_copy.cuh"
#include "llm/ops/cuda/tiles.cuh"

namespace voltpile::llm {

// Bytes of the planes (matrix.h): quants of a row and step, or of the four rows of a group and unit where
// these are adjacent (of a row, they have less than 16 bytes); scales and high of a group and unit; super of
// a group.
template <WeightFormat format>
struct StagedBytes {
    static constexpr UnitBytes unit = info(format).gpu.unit;
    static constexpr bool adjacent = unit.quants < 16;
    static constexpr int pair_quants = adjacent ? rows_in_group * unit.quants : 0;
    static constexpr int row = adjacent ? 0 : step_columns / 32 * unit.quants;
    static constexpr int scales = rows_in_group * unit.scales;
    static constexpr int high = rows_in_group * unit.high;
    static constexpr int super = rows_in_group * unit.super;
    // In shared memory, odd rows have the two pieces of 16 bytes of each unit exchanged, so that lanes that
    // read at the same time hit different banks.
    static constexpr bool exchanges_pieces = row == 128;
};

constexpr int step_units = step_columns / 32;
// Whether the columns of every matrix in this format are a multiple of step_columns.
template <WeightFormat format>
constexpr bool has_whole_steps = info(format).block_size % step_columns == 0;

// A step of a warp's `rows` rows of weights. Planes that the format does not have take 32 bytes. Where both
// halves of a sector of 32 bytes go to one sector of shared memory, the sector is read once, otherwise twice.
template <WeightFormat format, int rows>
struct alignas(32) StagedWeights {
    using Bytes = StagedBytes<format>;
    static constexpr int groups = rows / rows_in_group, pairs = groups * step_units;  // of groups and units
    static constexpr int or_16(int bytes) { return bytes == 0 ? 16 : bytes; }
    std::uint8_t quants[rows * Bytes::row + pairs * Bytes::pair_quants];
    alignas(32) std::uint8_t high[or_16(pairs * Bytes::high)];
    alignas(32) std::uint8_t super[or_16(groups * Bytes::super)];
    alignas(32) std::uint8_t scales[or_16(pairs * Bytes::scales)];
};

// Reads unit lane % 4 of the rows lane / 4, lane / 4 + 8, and so on.
template <WeightFormat format, int rows>
__device__ __forceinline__ void read_staged(const StagedWeights<format, rows>& from,
                                            typename RowUnit<format>::Raw (&to)[rows / 8]) {
    using Bytes = StagedBytes<format>;
    const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int i = 0; i < rows / 8; ++i) {
        const int group = 2 * i + lane / 16;
        DeviceMatrix four;  // rows
        four.columns = step_columns;
        four.quants = from.quants + group * (rows_in_group * Bytes::row + step_units * Bytes::pair_quants);
        four.scales = from.scales + group * (step_units * Bytes::scales);
        four.high = from.high + group * (step_units * Bytes::high);
        four.super = from.super + group * Bytes::super;
        const int row = lane / 4 % rows_in_group, unit = lane % 4;
        to[i] = RowUnit<format>::load(four, row, unit);
        if constexpr (Bytes::exchanges_pieces) {
#pragma unroll
            for (int n = 0; n < 2; ++n)
                to[i].quants[n] = *reinterpret_cast<const uint4*>(four.quants + row * Bytes::row +
                                                                  (2 * unit + (n ^ row % 2)) * 16);
        }
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

// A warp's rows of weights: of one matrix, or half of them of the gate and as many of `up`. Each lane has its
// pieces of at most 16 bytes of the planes.
template <WeightFormat format, bool gated, int warp_rows>
class WarpWeights {
    using Bytes = StagedBytes<format>;
    using Staged = StagedWeights<format, warp_rows>;
    static constexpr int warp_groups = Staged::groups;
    static constexpr int pieces = Bytes::row > 0 ? Bytes::row / 16 : 1, rows_at_once = 32 / pieces;
    static constexpr int row_copies = Bytes::row > 0 ? warp_rows / rows_at_once : 0;
    static constexpr bool whole = has_whole_steps<format>;

  public:
    // first_row: of the warp, a multiple of 4. second: `up`, or first again.
    __device__ __forceinline__ void go_to(const DeviceMatrix& first, const DeviceMatrix& second,
                                          int first_row) {
        first_group_ = first_row / rows_in_group;
        last_group_ = (first.rows - 1) / rows_in_group;
        last_unit_ = first.columns / 32 - 1;
        row_bytes_ = (last_unit_ + 1) * (Bytes::row / step_units);
#pragma unroll
        for (int i = 0; i < row_copies; ++i) {
            const int row = i * rows_at_once + lane() / pieces;
            rows_[i] = (row < warp_rows / 2 ? first : second).quants +
                       (group_of(row / rows_in_group) * rows_in_group + row % rows_in_group) * row_bytes_;
        }
        place(first.quants, second.quants, pair_quants_);
        place(first.scales, second.scales, scales_);
        place(first.high, second.high, high_);
        const int group = lane() % warp_groups;
        super_ = (group < warp_groups / 2 ? first : second).super +
                 group_of(group) * (first.columns / 256) * Bytes::super;
    }
    // Starts copies of step `step` of the tile. Columns that are not there: others.
    __device__ __forceinline__ void copy(int step, Staged& to) const {
        const int at = step * Bytes::row + lane() % pieces * 16;
        const int offset = whole ? at : min(at, row_bytes_ - 16);
        static_assert(!Bytes::exchanges_pieces || rows_at_once % 2 == 0,
                      "the rows of a lane are all even or all odd");
        const int piece = lane() % pieces ^ (Bytes::exchanges_pieces ? lane() / pieces % 2 : 0);
        const std::uint32_t quants = shared_address(to.quants) + lane() / pieces * Bytes::row + piece * 16;
#pragma unroll
        for (int i = 0; i < row_copies; ++i)
            copy_alone<16>(quants + i * (rows_at_once * Bytes::row), rows_[i] + offset);
        copy_pairs(step, to.quants, pair_quants_);
        copy_pairs(step, to.scales, scales_);
        copy_pairs(step, to.high, high_);
        if constexpr (Bytes::super > 0) {
            if (lane() < warp_groups)
                copy_alone<Bytes::super>(shared_address(to.super) + lane() * Bytes::super,
                                         super_ + unit_in_matrix(step * step_units) / 8 * Bytes::super);
        }
    }

  private:
    __device__ __forceinline__ static int lane() {
        return static_cast<int>(threadIdx.x) % 32;
    }
    __device__ __forceinline__ int unit_in_matrix(int unit) const {
        return whole ? unit : min(unit, last_unit_);
    }
    // Groups that are not there: the last one again, whose results nobody wants.
    __device__ __forceinline__ std::int64_t group_of(int group) const {
        return min(first_group_ + (gated ? group % (warp_groups / 2) : group), last_group_);
    }
    // The lane's pieces of a plane with `bytes` for each group and unit: where they are in step 0, or at unit
    // 0 where a matrix may end inside a step. A piece has part of a pair or, where no matrix ends inside a
    // step, several pairs.
    template <int bytes_of_pair>
    struct Pairs {
        static constexpr int bytes = bytes_of_pair;
        static constexpr bool joins_pairs = whole && 16 % (bytes > 0 ? bytes : 1) == 0;
        static constexpr int each = bytes > 16 || joins_pairs ? 16 : bytes > 0 ? bytes : 1;
        static constexpr int of_group = step_units * bytes / each;  // pieces
        static constexpr int all = warp_groups * of_group, rounds = all > 32 ? all / 32 : 1;
        const std::uint8_t* from[rounds];
    };
    template <class P>
    __device__ __forceinline__ void place(const std::uint8_t* first, const std::uint8_t* second,
                                          P& to) const {
        if constexpr (P::bytes > 0) {
#pragma unroll
            for (int i = 0; i < P::rounds; ++i) {
                const int piece = (lane() + 32 * i) % P::all, group = piece / P::of_group;
                const int offset = piece % P::of_group * P::each;
                to.from[i] = (group < warp_groups / 2 ? first : second) +
                             group_of(group) * (last_unit_ + 1) * P::bytes +
                             (whole ? offset : offset % P::bytes);
            }
        }
    }
    template <class P>
    __device__ __forceinline__ void copy_pairs(int step, std::uint8_t* to, const P& pairs) const {
        if constexpr (P::bytes > 0) {
#pragma unroll
            for (int i = 0; i < P::rounds; ++i) {
                const int piece = lane() + 32 * i;
                const int unit = whole ? 0 : piece % P::of_group * P::each / P::bytes;
                if (piece < P::all)
                    copy_alone<P::each>(shared_address(to) + piece * P::each,
                                        pairs.from[i] + unit_in_matrix(step * step_units + unit) * P::bytes);
            }
        }
    }

    const std::uint8_t* rows_[row_copies > 0 ? row_copies : 1];
    Pairs<Bytes::pair_quants> pair_quants_;
    Pairs<Bytes::scales> scales_;
    Pairs<Bytes::high> high_;
    const std::uint8_t* super_ = nullptr;
    int first_group_ = 0, last_group_ = 0, last_unit_ = 0, row_bytes_ = 0;
};

}  // namespace voltpile::llm
