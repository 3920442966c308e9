// The kernel of tiled products on compute capability 9.0. A block multiplies a tile of weights by up to 256
// rows of x: each of its two warpgroups has 64 rows of weights. Weights come through shared memory, several
// steps ahead of their use and across the borders of tiles (staged_weights.cuh); a warp expands them to fp16
// in its registers while the tensor cores multiply what it expanded before. x comes through shared memory for
// both warpgroups, with its columns in the order in which lanes hold whole units of 32 weights
// (wide_product.h).
#pragma once

#include "llm/ops/cuda/early_launch.cuh"
#include "llm/ops/cuda/sm90/warpgroup.cuh"
#include "llm/ops/cuda/sm90/wide_product.h"
#include "llm/ops/cuda/staged_weights.cuh"

namespace voltpile::llm {

constexpr int wide_threads = 2 * warpgroup_threads;
static_assert(tile_weights == 2 * 64);

// Chunks of x have half of a step's columns.
constexpr int chunk_columns = step_columns / 2;
constexpr int wide_warp_rows = 16;  // of weights

// As many chunks and steps as fit.
template <WeightFormat format, int x_rows>
struct WideShared {
    static constexpr int chunks = x_rows == 256 ? 4 : 6, steps = x_rows == 256 ? 4 : 6;
    __half x[chunks][x_rows * chunk_columns];  // as wide_product.h makes them
    StagedWeights<format, wide_warp_rows> weights[wide_threads / 32][steps];
    PhaseBarrier there[chunks], read[chunks];  // of x
};

// The chunks of x that a block multiplies, counted from the beginning of its run; they pass through shared
// memory in turn. All threads call all functions.
template <class Shared, int x_rows>
class XRun {
  public:
    __device__ explicit XRun(Shared& shared) : shared_(shared) {
        if (threadIdx.x == 0) {
            for (int i = 0; i < stored; ++i) {
                shared_.there[i].start(1);
                shared_.read[i].start(wide_threads / 32);
            }
            show_to_products();
        }
        __syncthreads();
    }
    // from: of the piece of x, `all` chunks. first: the run's first chunk; count: chunks of the run.
    __device__ void begin(const __half* from, int first, int all, int count) {
        from_ = from;
        next_ = first;
        all_ = all;
        count_ = count;
        for (int i = 0; i < min(ahead, count_); ++i) copy(i);
    }
    // Waits for chunk `at`, which all threads take in turn, and starts the copy of a later one.
    __device__ __forceinline__ std::uint64_t take(int at) {
        const int later = at + ahead;
        if (later < count_) {
            if (later >= stored) shared_.read[later % stored].wait((later / stored - 1) % 2);
            copy(later % stored);
        }
        shared_.there[at % stored].wait(at / stored % 2);
        return describe(shared_.x[at % stored]);
    }
    // The warp's products no longer read chunk `at`.
    __device__ __forceinline__ void release(int at) {
        if (threadIdx.x % 32 == 0) shared_.read[at % stored].arrive();
    }

  private:
    static constexpr int stored = Shared::chunks, ahead = stored - 2;

    __device__ __forceinline__ void copy(int to) {
        constexpr int halves = x_rows * chunk_columns;
        shared_.there[to].arrive_and_copy(threadIdx.x == 0, shared_.x[to],
                                          from_ + static_cast<std::int64_t>(next_) * halves, halves * 2);
        next_ = next_ + 1 == all_ ? 0 : next_ + 1;
    }

    Shared& shared_;
    const __half* from_ = nullptr;
    int next_ = 0, all_ = 0, count_ = 0;
};

// The steps of weights of a block's run: `count` from step `step` of tile `tile` on. A warp copies its rows
// ahead of their use.
template <WeightFormat format, bool gated, int stored>
class WeightRun {
  public:
    __device__ WeightRun(const TileArgs& args, StagedWeights<format, wide_warp_rows> (&stages)[stored],
                         int tile, int step, int count)
        : args_(args), stages_(stages), tile_(tile), step_(step), count_(count) {
        go_to(tile);
        for (int i = 0; i < stored - 1; ++i) copy();
    }
    // Reads step `at`, which is the next one, and starts the copy of a later one.
    __device__ __forceinline__ void take(int at, typename RowUnit<format>::Raw (&raw)[2]) {
        wait_for_earlier_copies<stored - 2>();
        __syncwarp();
        read_staged(stages_[at % stored], raw);
        copy();
    }

  private:
    __device__ __forceinline__ void go_to(int tile) {
        const TilePlace place = place_of<gated>(args_, tile);
        const int warp = static_cast<int>(threadIdx.x) / 32;
        weights_.go_to(place.weights, gated ? place.up : place.weights,
                       place.first_row + warp * (gated ? wide_warp_rows / 2 : wide_warp_rows));
    }
    __device__ __forceinline__ void copy() {
        if (copied_ < count_) {
            if (step_ == args_.steps) {
                step_ = 0;
                go_to(++tile_);
            }
            weights_.copy(step_++, stages_[copied_++ % stored]);
        }
        end_of_copies();
    }

    const TileArgs& args_;
    WarpWeights<format, gated, wide_warp_rows> weights_;
    StagedWeights<format, wide_warp_rows> (&stages_)[stored];
    int tile_, step_, count_, copied_ = 0;
};

// sum = the tile's weights times x over the steps [begin, end) of the run.
template <WeightFormat format, int x_rows, class Weights, class X>
__device__ __forceinline__ void multiply_steps(Weights& weights, X& x, int begin, int end,
                                               float (&sum)[x_rows / 2]) {
    using Unit = RowUnit<format>;
    typename Unit::Raw raw[2];
    std::uint32_t halves[2][2][4];  // of a piece of 32 columns in use and of the one before: 2 products of 16
#pragma unroll
    for (int i = 0; i < x_rows / 2; ++i) sum[i] = 0;
    keep(sum);
    for (int step = begin; step < end; ++step) {
        weights.take(step, raw);
        std::uint64_t columns = 0;
#pragma unroll
        for (int piece = 0; piece < 4; ++piece) {
            const int chunk = 2 * step + piece / 2;
            if (piece % 2 == 0) columns = x.take(chunk);
            auto& now = halves[piece % 2];
            wait_for_products<1>();  // the last ones with these registers
            keep(now);
            if (piece % 2 == 1 && chunk > 2 * begin) x.release(chunk - 1);
            const uint4 a = Unit::halves(raw[0], piece), b = Unit::halves(raw[1], piece);
            now[0][0] = a.x, now[0][1] = b.x;
            now[0][2] = a.y, now[0][3] = b.y;
            now[1][0] = a.z, now[1][1] = b.z;
            now[1][2] = a.w, now[1][3] = b.w;
            keep(now);
            begin_products();
#pragma unroll
            for (int k = 0; k < 2; ++k)
                multiply<true>(sum, now[k], advanced(columns, (piece % 2 * 2 + k) * 32));
            end_of_products();
        }
    }
    wait_for_products<0>();
    keep(sum);
    x.release(2 * end - 1);
}

// A worker has one block for each piece of x_rows rows of x, see tile_product().
template <WeightFormat format, bool gated, int x_rows>
__global__ void __launch_bounds__(wide_threads, 1) wide_product(const __grid_constant__ TileArgs args) {
    extern __shared__ __align__(1024) unsigned char memory[];
    using Shared = WideShared<format, x_rows>;
    auto& shared = *reinterpret_cast<Shared*>(memory);
    const MatmulArgs& a = args.matmul;
    const int worker = static_cast<int>(blockIdx.x) / args.pieces;
    const int piece = static_cast<int>(blockIdx.x) % args.pieces, first_x = piece * x_rows;
    const std::int64_t first_of_run = first_step(args, worker);
    const int count = static_cast<int>(first_step(args, worker + 1) - first_of_run);
    int tile = static_cast<int>(first_of_run / args.steps);
    int begin = static_cast<int>(first_of_run % args.steps);
    let_next_kernel_begin();
    WeightRun<format, gated, Shared::steps> weights(args, shared.weights[threadIdx.x / 32], tile, begin,
                                                    count);
    XRun<Shared, x_rows> x(shared);
    wait_for_earlier_kernels();
    x.begin(static_cast<const __half*>(a.x) + static_cast<std::int64_t>(first_x) * args.steps * step_columns,
            2 * begin, 2 * args.steps, 2 * count);

    for (int run = 0; run < count; ++tile, begin = 0) {
        const int end = min(args.steps, begin + count - run);
        float sum[x_rows / 2];
        multiply_steps<format, x_rows>(weights, x, run, run + end - begin, sum);
        run += end - begin;
        if (end - begin < args.steps &&
            !add_parts<wide_threads>(args, tile, worker, piece, begin == 0,
                                     reinterpret_cast<float(&)[x_rows / 16][8]>(sum)))
            continue;
        const TilePlace place = place_of<gated>(args, tile);
        const int t = static_cast<int>(threadIdx.x);
        const int row = t / 32 * (gated ? 8 : 16) + t % 32 / 4, x_row = first_x + t % 4 * 2;
#pragma unroll
        for (int i = 0; i < x_rows / 2; ++i) {
            if (gated && sum_row(i) > 0) continue;
            put<gated>(a, place, place.first_row + row + sum_row(i), x_row + sum_column(i), sum[i],
                       gated ? sum[i + 2] : 0.0f);
        }
    }
}

template <WeightFormat format, int x_rows>
void launch_wide_tiles_of(const TileArgs& args, const Stream& stream) {
    using Shared = WideShared<format, x_rows>;
    const auto kernel =
        args.matmul.gated ? wide_product<format, true, x_rows> : wide_product<format, false, x_rows>;
    cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Shared)),
               "shared memory of a tiled product");
    launch_early("tiled product", kernel, {args.pieces * args.matmul.workers, wide_threads, sizeof(Shared)},
                 stream, args);
}

template <WeightFormat format>
void launch_wide_tiles_of(const TileArgs& args, int x_rows, const Stream& stream) {
    if (x_rows == 128) return launch_wide_tiles_of<format, 128>(args, stream);
    launch_wide_tiles_of<format, 256>(args, stream);
}

}  // namespace voltpile::llm
