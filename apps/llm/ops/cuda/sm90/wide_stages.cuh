// How weights and x come to a block of wide_product(): through two rings of stages in shared memory, which
// one warpgroup fills and the others empty. A stage of weights has a step of 128 columns, one of x half a
// step. Bulk copies bring x and the large planes of the weights in a few instructions; the threads of the
// warpgroup copy the small planes.
#pragma once

#include "llm/ops/cuda/early_launch.cuh"
#include "llm/ops/cuda/grids/table.cuh"
#include "llm/ops/cuda/sm90/tensor_map.h"
#include "llm/ops/cuda/sm90/warpgroup.cuh"
#include "llm/ops/cuda/sm90/wide_product.h"
#include "llm/ops/cuda/staged_weights.cuh"

namespace voltpile::llm {

constexpr int multiplying_threads = 2 * warpgroup_threads;
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

// The steps of a block: `count` from step `begin` of tile `tile` on.
struct WideRun {
    int worker, piece, tile, begin, count;
    __device__ explicit WideRun(const TileArgs& args)
        : worker(static_cast<int>(blockIdx.x) / args.pieces),
          piece(static_cast<int>(blockIdx.x) % args.pieces) {
        const std::int64_t first = first_step(args, worker);
        tile = static_cast<int>(first / args.steps);
        begin = static_cast<int>(first % args.steps);
        count = static_cast<int>(first_step(args, worker + 1) - first);
    }
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

template <int count>
struct RingBarriers {
    static constexpr int stages = count;
    PhaseBarrier full[count], empty[count];
    __device__ void start(int filling) {
        for (int i = 0; i < count; ++i) {
            full[i].start(filling);
            empty[i].start(multiplying_threads / 32);
        }
    }
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
            x_ring.start(1);
            weights_ring.start(warpgroup_threads);
            show_to_products();
        }
        __syncthreads();
    }
};

// A place in a ring and the parity of its phases.
template <int stages>
struct RingPlace {
    int at = 0, parity = 0;
    __device__ __forceinline__ void advance() {
        const bool around = ++at == stages;
        at = around ? 0 : at;
        parity ^= around ? 1 : 0;
    }
};

// What a multiplying warp sees of a ring: the stage in use and the one before, from which products may still
// read.
template <class Barriers>
class RingReader {
  public:
    __device__ explicit RingReader(Barriers& barriers) : barriers_(barriers) {}
    // Waits for the next stage and returns its number.
    __device__ __forceinline__ int take() {
        before_ = in_use_;
        in_use_ = next_.at;
        barriers_.full[in_use_].wait(next_.parity);
        next_.advance();
        return in_use_;
    }
    // The warp no longer reads the stage before.
    __device__ __forceinline__ void release_before() {
        barriers_.empty[max(before_, 0)].arrive_if(before_ >= 0 && threadIdx.x % 32 == 0);
    }

  private:
    Barriers& barriers_;
    RingPlace<Barriers::stages> next_;
    int in_use_ = -1, before_ = -1;
};

// The rows of the tile that a warp multiplies: 16, or 8 of the gate and as many of up.
template <bool gated, int slabs>
__device__ __forceinline__ int first_row_of(int warp, int slab) {
    return ((warp / 4 * slabs + slab) * 4 + warp % 4) * (gated ? 8 : 16);
}

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
    __device__ StageSource(const WideArgs& args, const WideRun& run, Shared& shared)
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
