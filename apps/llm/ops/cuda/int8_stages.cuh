// How the threads of a block bring steps of weights and x to shared memory for products of integers: by
// asynchronous copies several steps ahead (compute capability 8.0), or through registers one step ahead.
#pragma once

#include "llm/ops/cuda/async_copy.cuh"
#include "llm/ops/cuda/int8_product.h"
#include "llm/ops/cuda/shared_tile.cuh"

namespace voltpile::llm {

template <class Shape>
struct alignas(128) Int8WarpStage {
    std::int8_t weights[Shape::weights][step_columns], x[Shape::rows][step_columns];
};
// As many as fit in the 99 KB that a block can have on compute capability 8.6 and 8.9; two in the 64 KB on
// 7.5. alone: device_copies_alone().
template <class Shape>
constexpr int int8_warp_stages(bool alone) {
    return !alone ? 2 : Shape::rows > 64 ? 3 : 4;
}

// Of x, of the largest piece: stages through registers leave too few of them for the sums of more.
__host__ __device__ constexpr int most_rows_by_warps(bool alone) {
    return alone ? 128 : 64;
}

// All threads of a block have one, and call the same functions.
template <class Shape>
class Int8Stages {
    using Stage = Int8WarpStage<Shape>;
    static constexpr int stages = int8_warp_stages<Shape>(copies_run_alone);
    static constexpr int round_bytes = 16 * Shape::threads;
    static constexpr int weight_rounds = static_cast<int>(sizeof Stage::weights) / round_bytes,
                         x_rounds = static_cast<int>(sizeof Stage::x) / round_bytes,
                         rounds = weight_rounds + x_rounds;
    static_assert(sizeof Stage::weights % round_bytes == 0 && sizeof Stage::x % round_bytes == 0);

  public:
    // Starts to bring the first steps of a run. memory: of all stages.
    __device__ Int8Stages(const Int8Args& args, const TileRun& run, std::uint8_t* memory)
        : stage_(reinterpret_cast<Stage*>(memory)),
          steps_(args.tiles.steps),
          step_(run.begin),
          left_(run.count) {
        const int half = run.piece % int8_halves, piece = run.piece / int8_halves;
        const std::int64_t tile = static_cast<std::int64_t>(run.tile) * int8_halves + half;
        const auto mine = static_cast<std::int64_t>(threadIdx.x) * 16;
        weights_ = args.weights.quants +
                   (tile * steps_ + run.begin) * static_cast<std::int64_t>(sizeof Stage::weights) + mine;
        x_ = args.x.quants + static_cast<std::int64_t>(piece) * steps_ * sizeof Stage::x + mine;
        if constexpr (copies_run_alone) {
#pragma unroll
            for (int i = 0; i < stages - 1; ++i) bring_alone();
        } else {
            load();
            put();
        }
    }
    // Returns the next stage. The one before may be overwritten.
    __device__ __forceinline__ const Stage& take() {
        if constexpr (copies_run_alone) wait_for_earlier_copies<stages - 2>();
        __syncthreads();
        if constexpr (copies_run_alone)
            bring_alone();
        else
            load();
        const Stage& stage = stage_[out_];
        out_ = out_ + 1 == stages ? 0 : out_ + 1;
        return stage;
    }
    // The thread has read the stage.
    __device__ __forceinline__ void done() {
        if constexpr (!copies_run_alone) put();
    }

  private:
    template <class Bring>
    __device__ __forceinline__ void each_piece(const Bring& bring) {
        const std::int8_t* const x = x_ + static_cast<std::int64_t>(step_) * sizeof Stage::x;
#pragma unroll
        for (int i = 0; i < rounds; ++i)
            bring(i, i < weight_rounds ? weights_ + i * round_bytes : x + (i - weight_rounds) * round_bytes);
    }
    __device__ __forceinline__ std::int8_t* place(int round) const {
        return &stage_[in_].weights[0][0] + round * round_bytes + threadIdx.x * 16;
    }
    __device__ __forceinline__ void advance() {
        --left_;
        in_ = in_ + 1 == stages ? 0 : in_ + 1;
        weights_ += sizeof Stage::weights;
        if (++step_ < steps_) return;
        step_ = 0;
        weights_ += (int8_halves - 1) * static_cast<std::int64_t>(steps_) * sizeof Stage::weights;
    }
    __device__ __forceinline__ void bring_alone() {
        if (left_ > 0) {
            each_piece([&](int i, const std::int8_t* from) { copy_alone(place(i), from, true); });
            advance();
        }
        end_of_copies();
    }
    __device__ __forceinline__ void load() {
        if (left_ > 0)
            each_piece([&](int i, const std::int8_t* from) {
                loaded_[i] = __ldg(reinterpret_cast<const uint4*>(from));
            });
    }
    __device__ __forceinline__ void put() {
        if (left_ <= 0) return;
#pragma unroll
        for (int i = 0; i < rounds; ++i) *reinterpret_cast<uint4*>(place(i)) = loaded_[i];
        advance();
    }

    Stage* stage_;
    int steps_, step_, left_;  // left_: steps that are not on their way
    int in_ = 0, out_ = 0;
    const std::int8_t *weights_, *x_;
    uint4 loaded_[copies_run_alone ? 1 : rounds];
};

}  // namespace voltpile::llm
