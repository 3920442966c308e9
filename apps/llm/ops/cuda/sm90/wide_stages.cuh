// How weights and x come to a block of wide_product(): through two rings of stages in shared memory, which
// one warpgroup fills and the others empty. A stage of weights has a step of 128 columns, one of x half a
// step. Bulk copies bring x and the large planes of the weights in a few instructions; the threads of the
// warpgroup copy the small planes.
#pragma once

#include "llm/ops/cuda/early_launch.cuh"
#include "llm/ops/cuda/grids/table.cuh"
#include "llm/ops/cuda/shared_tile.cuh"
#include "llm/ops/cuda/sm90/stage_ring.cuh"
#include "llm/ops/cuda/sm90/tensor_map.h"
#include "llm/ops/cuda/sm90/wide_product.h"
#include "llm/ops/cuda/staged_weights.cuh"

namespace voltpile::llm {

constexpr int multiplying_threads = WideShape<1>::threads;
constexpr int wide_threads = multiplying_threads + warpgroup_threads;
// Registers of a thread. Together they equal what the block starts with.
constexpr int multiplying_registers = 232, copying_registers = 40;
static_assert(multiplying_threads * multiplying_registers + warpgroup_threads * copying_registers ==
              wide_threads * (65536 / wide_threads / 8 * 8));
// Lanes read 16 bytes of 8 rows of 128 bytes at a time: these hit different banks if swizzled.
template <WeightFormat format>
constexpr bool swizzles_quants = StagedBytes<format>::row == 128;

struct WideArgs {
    TileArgs tiles;
    CUtensorMap quants[3], high[3];  // of the matrices; high: if the format has it
};

// A step of weights: planes as in DeviceMatrix, of a matrix of Shape::weights rows and 128 columns. They come
// in two boxes: of one matrix, or of the gate and up.
template <WeightFormat format, class Shape>
struct alignas(1024) WideStage {
    using Bytes = StagedBytes<format>;
    static constexpr int box_weights = Shape::weights / 2, box_groups = box_weights / rows_in_group;
    static constexpr int pairs = 2 * box_groups * step_units;
    static constexpr int or_16(int bytes) { return bytes == 0 ? 16 : bytes; }
    std::uint8_t quants[Shape::weights * Bytes::row + pairs * Bytes::pair_quants];
    std::uint8_t high[or_16(pairs * Bytes::high)];
    std::uint8_t super[or_16(2 * box_groups * Bytes::super)];
    std::uint8_t scales[pairs * Bytes::scales];
    // Bytes of a stage that bulk copies bring.
    static constexpr int bulk_bytes =
        Shape::weights * Bytes::row + pairs * (Bytes::pair_quants + Bytes::high);
};

// As many stages as fit.
template <WeightFormat format, class Shape>
struct WideShared {
    using Stage = WideStage<format, Shape>;
    static constexpr int chunk_halves = Shape::rows * step_columns / 2;
    static constexpr int chunks = Shape::rows == 256 ? 4 : 6;
    static constexpr int fit =
        (226 * 1024 - grid_bytes<format> - chunks * chunk_halves * 2) / static_cast<int>(sizeof(Stage));
    static constexpr int stages = fit < 6 ? fit : 6;
    static_assert(stages >= 3);
    __half x[chunks][chunk_halves];  // as wide_product.h makes them
    Stage weights[stages];
    RingBarriers<chunks> x_ring;
    RingBarriers<stages> weights_ring;

    // All threads call it.
    __device__ void start() {
        if (threadIdx.x == 0) {
            x_ring.start(1, multiplying_threads / 32);
            weights_ring.start(warpgroup_threads, multiplying_threads / 32);
            show_to_products();
        }
        __syncthreads();
    }
};

// Reads unit lane % 4 of the warp's rows lane / 4 and lane / 4 + 8, which are of the gate and of up if gated.
template <WeightFormat format, bool gated, class Shape>
__device__ __forceinline__ void read_stage(const WideStage<format, Shape>& from, int slab,
                                           typename RowUnit<format>::Raw (&to)[2]) {
    using Bytes = StagedBytes<format>;
    const int lane = static_cast<int>(threadIdx.x) % 32, unit = lane % 4;
    const int row = first_row_of<gated, Shape::slabs>(static_cast<int>(threadIdx.x) / 32, slab) + lane / 4;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        const int group = (row + i * (gated ? from.box_weights : 8)) / rows_in_group;
        DeviceMatrix four;  // rows
        four.columns = step_columns;
        four.quants = from.quants + group * (rows_in_group * Bytes::row + step_units * Bytes::pair_quants);
        four.scales = from.scales + group * (step_units * Bytes::scales);
        four.high = from.high + group * (step_units * Bytes::high);
        four.super = from.super + group * Bytes::super;
        to[i] = RowUnit<format>::load(four, lane / 4 % rows_in_group, unit);
        if constexpr (swizzles_quants<format>) {
#pragma unroll
            for (int n = 0; n < 2; ++n)
                to[i].quants[n] = *reinterpret_cast<const uint4*>(
                    four.quants + row % rows_in_group * Bytes::row + swizzled(row, 2 * unit + n) * 16);
        }
    }
}

// The warpgroup that fills the ring.
template <WeightFormat format, bool gated, class Shape>
class StageSource {
    using Bytes = StagedBytes<format>;
    using Shared = WideShared<format, Shape>;
    using Stage = typename Shared::Stage;

  public:
    __device__ StageSource(const WideArgs& args, const TileRun& run, Shared& shared)
        : args_(args), shared_(shared), tile_(run.tile), step_(run.begin), chunk_(2 * run.begin) {
        x_ = static_cast<const __half*>(args.tiles.matmul.x) +
             static_cast<std::int64_t>(run.piece) * args.tiles.steps * (2 * x_halves);
        go_to(tile_);
    }
    // Weights may be read before earlier kernels end, x may not.
    __device__ void copy(int count) {
        for (int i = 0; i < min(count, Shared::stages); ++i) copy_weights(i);
        wait_for_earlier_kernels();
        RingPlace<Shared::chunks> x_place;
        RingPlace<Shared::stages> place;
        bool x_is_free = true;  // until the ring wraps
        // Copies weights after x: both wait for the end of the same step.
        for (int i = 0; i < count; ++i) {
            for (int half = 0; half < 2; ++half) {
                if (!x_is_free) shared_.x_ring.empty[x_place.at].wait(x_place.parity ^ 1);
                copy_x(x_place.at);
                x_place.advance();
                x_is_free = x_is_free && x_place.parity == 0;
            }
            const int next = i - Shared::chunks / 2 + Shared::stages;
            if (next < Shared::stages || next >= count) continue;
            shared_.weights_ring.empty[place.at].wait(place.parity);
            copy_weights(place.at);
            place.advance();
        }
        wait_for_copies();
    }

  private:
    static constexpr int box_weights = Stage::box_weights, box_groups = Stage::box_groups,
                         x_halves = Shared::chunk_halves;

    __device__ static int thread() { return static_cast<int>(threadIdx.x) - multiplying_threads; }

    // A thread copies the scales of some pairs of a group and a unit, and the super-scale of one group.
    // Groups that are not there: the last one, whose results nobody wants.
    static_assert(Stage::pairs == Shape::slabs * warpgroup_threads);
    __device__ __forceinline__ void go_to(int tile) {
        const MatmulArgs& a = args_.tiles.matmul;
        matrix_ = 0;
        if (!gated) {
            while (matrix_ + 1 < a.matrices && tile >= args_.tiles.first_tile[matrix_ + 1]) ++matrix_;
        }
        const TilePlace place = place_of<gated, Shape::weights>(args_.tiles, tile);
        first_row_ = place.first_row;
        const int last = (place.weights.rows - 1) / rows_in_group;
        const int units = place.weights.columns / 32;
        const auto matrix_of = [&](int group) {
            return gated && group >= box_groups ? place.up : place.weights;
        };
        const auto group_of = [&](int group) {
            const int of_tile = gated ? group % box_groups : group;
            return static_cast<std::int64_t>(min(first_row_ / rows_in_group + of_tile, last));
        };
#pragma unroll
        for (int i = 0; i < Shape::slabs; ++i) {
            const int group = (i * warpgroup_threads + thread()) / step_units;
            scales_[i] = matrix_of(group).scales + group_of(group) * units * Bytes::scales;
        }
        if constexpr (Bytes::super > 0) {
            const int group = thread() % (2 * box_groups);
            super_ = matrix_of(group).super + group_of(group) * (units / 8) * Bytes::super;
        }
    }
    __device__ __forceinline__ void copy_x(int to) {
        if (thread() == 0) {
            PhaseBarrier& full = shared_.x_ring.full[to];
            full.expect(x_halves * 2);
            full.copy(shared_.x[to], x_ + static_cast<std::int64_t>(chunk_) * x_halves, x_halves * 2);
            full.arrive();
        }
        if (++chunk_ == 2 * args_.tiles.steps) chunk_ = 0;
    }
    __device__ __forceinline__ void copy_weights(int to) {
        Stage& stage = shared_.weights[to];
        PhaseBarrier& full = shared_.weights_ring.full[to];
        if (thread() == 0) {
            full.expect(Stage::bulk_bytes);
#pragma unroll
            for (int half = 0; half < 2; ++half) copy_boxes(half, stage, full);
        }
        copy_small(stage);
        full.arrive_after_copies();
        if (++step_ == args_.tiles.steps) {
            step_ = 0;
            if (++tile_ < args_.tiles.tiles) go_to(tile_);
        }
    }
    __device__ __forceinline__ void copy_boxes(int half, Stage& stage, PhaseBarrier& full) {
        const int matrix = gated ? half : matrix_, first = first_row_ + (gated ? 0 : half * box_weights);
        if constexpr (Bytes::row > 0) {
            full.copy_box(stage.quants + half * (box_weights * Bytes::row), args_.quants[matrix],
                          step_ * Bytes::row, first);
        } else {
            full.copy_box(stage.quants + half * (box_groups * step_units * Bytes::pair_quants),
                          args_.quants[matrix], step_ * step_units * Bytes::pair_quants,
                          first / rows_in_group);
        }
        if constexpr (Bytes::high > 0)
            full.copy_box(stage.high + half * (box_groups * step_units * Bytes::high), args_.high[matrix],
                          step_ * step_units * Bytes::high, first / rows_in_group);
    }
    __device__ __forceinline__ void copy_small(Stage& stage) {
        const int last_unit = args_.tiles.matmul.matrix[0].columns / 32 - 1;
        const int unit = min(step_ * step_units + thread() % step_units, last_unit);
#pragma unroll
        for (int i = 0; i < Shape::slabs; ++i)
            copy_alone<Bytes::scales>(
                shared_address(stage.scales) + (i * warpgroup_threads + thread()) * Bytes::scales,
                scales_[i] + unit * Bytes::scales);
        if constexpr (Bytes::super > 0) {
            if (thread() < 2 * box_groups)
                copy_alone<Bytes::super>(shared_address(stage.super) + thread() * Bytes::super,
                                         super_ + min(step_ * step_units, last_unit) / 8 * Bytes::super);
        }
    }

    const WideArgs& args_;
    Shared& shared_;
    int tile_, step_, chunk_, matrix_, first_row_;
    const __half* x_;
    const std::uint8_t *scales_[Shape::slabs], *super_ = nullptr;
};

}  // namespace voltpile::llm
