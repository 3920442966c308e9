// The kernel of products of integers on tensor cores of compute capability 9.0. Two warpgroups multiply a
// half of a tile of weights by some rows of x; a thread of another warpgroup brings both to shared memory by
// bulk copies, several steps ahead of their use. The two blocks of a cluster have the halves of a tile.
//
// The next kernel begins when the last weights are there: if it began earlier, and with it the product behind
// it, which brings its first weights before it waits, these would take the memory from this product, and
// memory would idle afterwards (measured).
//
// The tensor cores add the products of whole rows as integers, exactly (below 2^31, as rows have at most 2^17
// columns). So a result does not depend on who adds which part: nor on the number of rows of x.
#pragma once

#include "llm/ops/cuda/early_launch.cuh"
#include "llm/ops/cuda/int8_output.cuh"
#include "llm/ops/cuda/sm90/cluster.cuh"
#include "llm/ops/cuda/sm90/int8_warpgroup.cuh"
#include "llm/ops/cuda/sm90/stage_ring.cuh"

namespace voltpile::llm {

// The two blocks of a cluster have the halves of the same tile, and each brings a part of x to both.
constexpr int int8_threads = 3 * warpgroup_threads;
// Registers of a thread at the start, and of those that multiply and copy: together as many. With few sums,
// and not all shared memory for stages, a block begins to copy weights while others still round x.
template <class Shape>
struct Int8Resources {
    static constexpr bool few = Shape::rows <= 128;
    static constexpr int registers = few ? 104 : 168, multiplying = few ? 136 : 232, copying = 40;
    static_assert(2 * multiplying + copying == 3 * registers && registers * int8_threads <= 65536);
    static constexpr int stage_bytes = (few ? 160 : 225) * 1024;
};

template <class Shape>
struct alignas(1024) Int8Stage {
    std::int8_t weights[Shape::weights][step_columns], x[Shape::rows][step_columns];
};

// As many stages as fit.
template <class Shape>
struct Int8Shared {
    using Stage = Int8Stage<Shape>;
    static constexpr int stages = Int8Resources<Shape>::stage_bytes / static_cast<int>(sizeof(Stage));
    Stage stage[stages];
    RingBarriers<stages> ring;
    alignas(16) float x_scale[Shape::rows];
};

// The thread that fills the ring.
template <class Shape>
class Int8Source {
    using Shared = Int8Shared<Shape>;
    static constexpr int x_rows = Shape::rows / int8_halves;  // that each block of a cluster brings to both

  public:
    __device__ Int8Source(const Int8Args& args, const TileRun& run, Shared& shared)
        : shared_(shared), steps_(args.tiles.steps), step_(run.begin), count_(run.count) {
        const int half = run.piece % int8_halves, piece = run.piece / int8_halves;
        const std::int64_t tile = static_cast<std::int64_t>(run.tile) * int8_halves + half;
        weights_ = args.weights.quants + (tile * steps_ + run.begin) * Shape::weights * step_columns;
        x_ = args.x.quants +
             (static_cast<std::int64_t>(piece) * steps_ * Shape::rows + half * x_rows) * step_columns;
    }
    // The weights of the first steps need not wait for earlier kernels if none of them writes weights.
    __device__ void copy(bool lasting) {
        const int first = min(count_, Shared::stages);
        if (!lasting) wait_for_earlier_kernels();
        for (int i = 0; i < first; ++i) copy_weights(i);
        if (lasting) wait_for_earlier_kernels();
        for (int i = 0; i < first; ++i) copy_x(i);
        RingPlace<Shared::stages> place;
        for (int i = first; i < count_; ++i, place.advance()) {
            shared_.ring.empty[place.at].wait(place.parity);
            copy_weights(place.at);
            copy_x(place.at);
        }
    }

  private:
    __device__ __forceinline__ void copy_weights(int to) {
        PhaseBarrier& full = shared_.ring.full[to];
        auto& weights = shared_.stage[to].weights;
        full.expect(sizeof(Int8Stage<Shape>));
        full.copy(weights, weights_, sizeof weights);
        weights_ += sizeof weights;
        if (++weights_step_ < steps_) return;
        weights_step_ = 0;
        weights_ += (int8_halves - 1) * static_cast<std::int64_t>(steps_) * sizeof weights;
    }
    __device__ __forceinline__ void copy_x(int to) {
        PhaseBarrier& full = shared_.ring.full[to];
        const std::int8_t* from = x_ + static_cast<std::int64_t>(step_) * Shape::rows * step_columns;
        copy_to_cluster(shared_.stage[to].x[block_in_cluster() * x_rows], from, x_rows * step_columns, full,
                        int8_halves);
        full.arrive();
        if (++step_ == steps_) step_ = 0;
    }

    Shared& shared_;
    int steps_, step_, count_, weights_step_ = step_;
    const std::int8_t *weights_, *x_;
};

template <class Shape>
class Int8Product {
    static constexpr int size = Shape::rows / 2;
    using Shared = Int8Shared<Shape>;

  public:
    __device__ explicit Int8Product(Shared& shared) : shared_(shared) {}

    // sum = the bits of the products over the next `count` steps, integers.
    __device__ __forceinline__ void multiply(int count, float (&sum)[size]) {
        std::int32_t products[size];
#pragma unroll
        for (std::int32_t& each : products) each = 0;
        keep(products);
        int before = 0;
        for (int step = 0; step < count; ++step) {
            const int at = next_.at;
            shared_.ring.full[at].wait(next_.parity);
            next_.advance();
            const std::uint64_t weights = describe(shared_.stage[at].weights[group() * 64]),
                                x = describe(shared_.stage[at].x);
            begin_products();
#pragma unroll
            for (int k = 0; k < step_columns; k += 32)
                multiply_int8(products, advanced(weights, k), advanced(x, k));
            end_of_products();
            wait_for_products<1>();
            release(step > 0, before);
            before = at;
        }
        wait_for_products<0>();
        keep(products);
        release(true, before);
#pragma unroll
        for (int i = 0; i < size; ++i) sum[i] = __int_as_float(products[i]);
    }

  private:
    __device__ static int group() {
        return static_cast<int>(threadIdx.x) / warpgroup_threads;
    }
    // The warp no longer reads a stage: tells both blocks, because both write x to it.
    __device__ __forceinline__ void release(bool done, int at) {
        const int lane = static_cast<int>(threadIdx.x) % 32;
        arrive_in_cluster_if(done && lane < int8_halves, shared_.ring.empty[at], lane);
    }

    Shared& shared_;
    RingPlace<Shared::stages> next_;
};

// A worker has two blocks for each piece of rows of x, a cluster.
template <bool gated, class Shape>
__global__ void __cluster_dims__(int8_halves, 1, 1) __maxnreg__(Int8Resources<Shape>::registers)
    int8_product(const __grid_constant__ Int8Args args) {
    extern __shared__ __align__(1024) unsigned char memory[];
    auto& shared = *reinterpret_cast<Int8Shared<Shape>*>(memory);
    TileRun run(args.tiles);
    run.count = min(run.count, max(args.steps - run.tile * args.tiles.steps - run.begin, 0));
    if (threadIdx.x == 0) {
        shared.ring.start(1, int8_halves * Shape::threads / 32);
        show_to_products();
    }
    __syncthreads();
    meet_cluster();
    if (threadIdx.x >= Shape::threads) {
        give_registers<Int8Resources<Shape>::copying>();
        if (threadIdx.x == Shape::threads) {
            Int8Source<Shape>(args, run, shared).copy(args.lasting);
            shared.ring.wait_for_last(run.count);
            let_next_kernel_begin();
        } else {
            wait_for_earlier_kernels();
        }
    } else {
        take_registers<Int8Resources<Shape>::multiplying>();
        wait_for_earlier_kernels();
        for (int i = static_cast<int>(threadIdx.x); i < Shape::rows; i += Shape::threads)
            shared.x_scale[i] = args.x.scale[run.piece / int8_halves * Shape::rows + i];
        meet_at(1, Shape::threads);
        Int8Product<Shape> product(shared);
        if (run.count > 0)
            multiply_run<Shape>(
                args.tiles, run,
                [&](int, int count, TileSums<Shape>& sum) { product.multiply(count, sum[0]); },
                [&](int tile, int piece) {
                    return Int8Output<gated, Shape>(args, tile, piece, shared.x_scale);
                });
    }
    // Copies of the other block, and its arrivals, need this block's shared memory.
    __syncwarp();
    meet_cluster();
}

}  // namespace voltpile::llm
