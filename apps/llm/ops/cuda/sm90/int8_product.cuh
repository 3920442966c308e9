// The kernel of products of integers on tensor cores of compute capability 9.0. Three warpgroups multiply a
// tile of weights by some rows of x; a thread of another warpgroup brings both to shared memory by bulk
// copies, several steps ahead of their use. The blocks of a cluster multiply the same weights by different
// rows of x, so each brings a part of the weights to all.
//
// The tensor cores sum a step's products as integers. Adding the bits of 1.5 * 2^23 makes the sum an fp32
// number, 1.5 * 2^23 + sum, exact because |sum| <= 128 * 128 * 128 < 2^22. Every second step takes -1.5 *
// 2^23 instead, so that what is added beside the sums nearly cancels; the rest is subtracted at the end. One
// integer and one fp32 instruction for each sum of a step: while fp32 instructions are issued one after the
// other, they take the register bandwidth that the tensor cores need, and conversions by I2F are slower.
#pragma once

#include "llm/ops/cuda/early_launch.cuh"
#include "llm/ops/cuda/sm90/cluster.cuh"
#include "llm/ops/cuda/sm90/int8_shape.h"
#include "llm/ops/cuda/sm90/int8_warpgroup.cuh"
#include "llm/ops/cuda/sm90/shared_tile.cuh"
#include "llm/ops/cuda/sm90/stage_ring.cuh"

namespace voltpile::llm {

constexpr int int8_threads = 4 * warpgroup_threads;
// Registers of a thread. Together they equal what the block starts with.
constexpr int int8_multiplying_registers = 160, int8_copying_registers = 32;
static_assert(Int8Shape::threads * int8_multiplying_registers + warpgroup_threads * int8_copying_registers ==
              int8_threads * (65536 / int8_threads / 8 * 8));

struct Int8Args {
    TileArgs tiles;
    const Int8Weights* weights;  // (tiles, steps)
    const Int8Rows* x;           // (pieces, steps)
    const float* x_scales;       // (pieces * Int8Shape::rows)
};

struct alignas(1024) Int8Stage {
    Int8Weights weights;
    alignas(1024) Int8Rows x;
    static constexpr int bytes = sizeof(Int8Weights) + sizeof(Int8Rows);
};

// As many stages as fit.
struct Int8Shared {
    using Stage = Int8Stage;
    static constexpr int fit = 226 * 1024 / static_cast<int>(sizeof(Stage)), stages = fit < 6 ? fit : 6;
    Stage stage[stages];
    RingBarriers<stages> ring;
};

// The thread that fills the ring.
template <int cluster>
class Int8Source {
  public:
    __device__ Int8Source(const Int8Args& args, const TileRun& run, Int8Shared& shared)
        : shared_(shared), steps_(args.tiles.steps), step_(run.begin) {
        weights_ = args.weights + static_cast<std::int64_t>(run.tile) * steps_ + run.begin;
        x_ = args.x + static_cast<std::int64_t>(run.piece) * steps_;
    }
    __device__ void copy(int count) {
        constexpr int stages = Int8Shared::stages;
        RingPlace<stages> place;
        for (int i = 0; i < count; ++i) {
            if (i >= stages) shared_.ring.empty[place.at].wait(place.parity ^ 1);
            copy_step(place.at);
            place.advance();
        }
    }

  private:
    __device__ __forceinline__ void copy_step(int to) {
        auto& stage = shared_.stage[to];
        PhaseBarrier& full = shared_.ring.full[to];
        full.expect(stage.bytes);
        if constexpr (cluster == 1) {
            full.copy(&stage.weights, weights_, sizeof(Int8Weights));
        } else {
            constexpr int rows = Int8Shape::weights / cluster;
            const int first = block_in_cluster() * rows;
            copy_to_cluster(stage.weights.q[first], weights_->q[first], rows * step_columns, full, cluster);
            copy_to_cluster(&stage.weights.scale[first], &weights_->scale[first], rows * sizeof(float), full,
                            cluster);
        }
        full.copy(&stage.x, x_ + step_, sizeof(Int8Rows));
        full.arrive();
        ++weights_;
        if (++step_ == steps_) step_ = 0;
    }

    Int8Shared& shared_;
    int steps_, step_;
    const Int8Weights* weights_;
    const Int8Rows* x_;
};

// The sums of a thread: of rows lane / 4 and lane / 4 + 8 of its warp's 16, see sum_column().
template <int cluster>
class Int8Product {
    static constexpr int size = Int8Shape::rows / 2;

  public:
    __device__ explicit Int8Product(Int8Shared& shared) : shared_(shared), reader_(shared.ring) {
        if (group() == Int8Shape::warpgroups - 1) give_turn(0);
    }

    // sum = the products over the next `count` steps, without the scales of x.
    __device__ __forceinline__ void multiply(int count, float (&sum)[size]) {
#pragma unroll
        for (float& each : sum) each = 0;
        float offset[2] = {0, 0};  // in the sums of each row, in units of 1.5 * 2^23
        for (int step = 0; step < count; step += 2) {
            multiply_step<false>(sum, offset);
            if (step + 1 < count) multiply_step<true>(sum, offset);
        }
#pragma unroll
        for (int i = 0; i < size; ++i) sum[i] = fmaf(-middle, offset[sum_row(i) / 8], sum[i]);
    }

  private:
    static constexpr float middle = 0x1.8p23f;
    static constexpr std::uint32_t middle_bits = 0x4b400000, sign_bit = 0x80000000;

    __device__ static int warp() {
        return static_cast<int>(threadIdx.x) / 32;
    }
    __device__ static int lane() {
        return static_cast<int>(threadIdx.x) % 32;
    }
    __device__ static int group() {
        return warp() / 4;
    }

    // The warpgroups start their products in turn, so that while one adds, the tensor cores work for the
    // others. The barriers after that of SharedTile.
    __device__ static int turn_of(int group) {
        return 2 + group % Int8Shape::warpgroups;
    }
    __device__ static void wait_for_turn() {
        meet_at(turn_of(group()), 2 * warpgroup_threads);
    }
    __device__ static void give_turn(int group) {
        arrive_at(turn_of(group), 2 * warpgroup_threads);
    }

    template <bool negative>
    __device__ __forceinline__ void multiply_step(float (&sum)[size], float (&offset)[2]) {
        const int at = reader_.take();
        const Int8Stage& stage = shared_.stage[at];
        std::int32_t products[size];
        const std::uint64_t weights = describe(stage.weights.q[group() * 64]), x = describe(stage.x.q);
        float scale[2];
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            scale[i] = stage.weights.scale[warp() * 16 + lane() / 4 + i * 8] * stage.x.factor;
            offset[i] += negative ? -scale[i] : scale[i];
        }
        wait_for_turn();
        begin_products();
#pragma unroll
        for (int k = 0; k < step_columns; k += 32)
            multiply_int8(products, advanced(weights, k), advanced(x, k), k > 0);
        end_of_products();
        give_turn(group() + 1);
        wait_for_products<0>();
        keep(products);
        release(at);
#pragma unroll
        for (int i = 0; i < size; ++i) {
            const auto product = static_cast<std::uint32_t>(products[i]);
            const std::uint32_t bits = negative ? (middle_bits | sign_bit) - product : middle_bits + product;
            sum[i] = fmaf(scale[sum_row(i) / 8], __uint_as_float(bits), sum[i]);
        }
    }
    // The warp no longer reads the stage.
    __device__ __forceinline__ void release(int at) {
        PhaseBarrier& empty = shared_.ring.empty[at];
        if constexpr (cluster == 1)
            empty.arrive_if(lane() == 0);
        else
            arrive_in_cluster_if(lane() < cluster, empty, lane());
    }

    Int8Shared& shared_;
    RingReader<RingBarriers<Int8Shared::stages>> reader_;
};

// Multiplies by the scales of x.
__device__ __forceinline__ void finish_sums(const float* scales, float (&sum)[Int8Shape::rows / 2]) {
#pragma unroll
    for (int i = 0; i < Int8Shape::rows / 2; i += 4) {
        const auto scale =
            *reinterpret_cast<const float2*>(scales + sum_column(i) + static_cast<int>(threadIdx.x) % 4 * 2);
#pragma unroll
        for (int j = 0; j < 4; ++j) sum[i + j] *= j % 2 == 0 ? scale.x : scale.y;
    }
}

// A worker has one block for each piece of rows of x; those of a cluster have neighboring pieces.
template <bool gated, int cluster>
__global__ void __cluster_dims__(cluster, 1, 1) __launch_bounds__(int8_threads, 1)
    int8_product(const __grid_constant__ Int8Args args) {
    extern __shared__ __align__(1024) unsigned char memory[];
    auto& shared = *reinterpret_cast<Int8Shared*>(memory);
    const TileRun run(args.tiles);
    let_next_kernel_begin();
    if (threadIdx.x == 0) {
        shared.ring.start(1, cluster * Int8Shape::threads / 32);
        show_to_products();
    }
    __syncthreads();
    if constexpr (cluster > 1) meet_cluster();
    wait_for_earlier_kernels();
    if (threadIdx.x >= Int8Shape::threads) {
        give_registers<int8_copying_registers>();
        if (threadIdx.x == Int8Shape::threads) Int8Source<cluster>(args, run, shared).copy(run.count);
    } else {
        take_registers<int8_multiplying_registers>();
        Int8Product<cluster> product(shared);
        const float* scales = args.x_scales + run.piece * Int8Shape::rows;
        multiply_run<gated, Int8Shape>(args.tiles, run, [&](int, int count, TileSums<Int8Shape>& sum) {
            product.multiply(count, sum[0]);
            finish_sums(scales, sum[0]);
        });
    }
    // Copies of other blocks, and their arrivals, need this block's shared memory.
    if constexpr (cluster > 1) {
        __syncwarp();
        meet_cluster();
    }
}

}  // namespace voltpile::llm
