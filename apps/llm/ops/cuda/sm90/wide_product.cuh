// The kernel of tiled products of many rows of x on compute capability 9.0. A block multiplies a tile of
// weights by up to 256 rows of x: each of its two warpgroups has 64 rows of weights. A warp loads its weights
// directly from memory into registers and expands them to fp16 there while the tensor cores multiply what it
// expanded before. x comes through shared memory for both warpgroups, with its columns in the order in which
// lanes hold whole units of 32 weights (wide_product.h).
#pragma once

#include "llm/ops/cuda/row_units.cuh"
#include "llm/ops/cuda/sm90/warpgroup.cuh"
#include "llm/ops/cuda/sm90/wide_product.h"
#include "llm/ops/cuda/tiles.cuh"

namespace voltpile::llm {

constexpr int wide_threads = 2 * warpgroup_threads;
static_assert(tile_weights == 2 * 64);

// Steps of x in shared memory: one is multiplied, one may still be read by the last products, and one
// arrives.
constexpr int x_steps_stored = 3;

struct WideShared {
    static constexpr int stored = x_steps_stored;
    __half x[stored][wide_rows * step_columns];  // as wide_product.h makes them
    PhaseBarrier there[stored], read[stored];
};

// The steps of x that a block multiplies, counted from the beginning of its run; they pass through shared
// memory in turn.
class XRun {
  public:
    // from: of the piece of x. first: column step of the run's first step, of `steps`; count: steps of the
    // run.
    __device__ XRun(WideShared& shared, const __half* from, int first, int steps, int count)
        : shared_(shared), from_(from), first_(first), steps_(steps), count_(count) {
        if (threadIdx.x == 0) {
            for (int i = 0; i < stored; ++i) {
                shared_.there[i].start(1);
                shared_.read[i].start(wide_threads / 32);
            }
            show_to_products();
        }
        __syncthreads();
        for (int i = 0; i < min(ahead, count_); ++i) copy(i);
    }
    // Waits for step `at`, which all threads take in turn, and starts the copy of
    // a later one.
    __device__ __forceinline__ std::uint64_t take(int at) {
        const int later = at + ahead;
        if (later < count_) {
            if (later >= stored) shared_.read[later % stored].wait((later / stored - 1) % 2);
            copy(later);
        }
        shared_.there[at % stored].wait(at / stored % 2);
        return describe(shared_.x[at % stored]);
    }
    // The warp's products no longer read step `at`.
    __device__ __forceinline__ void release(int at) {
        if (threadIdx.x % 32 == 0) shared_.read[at % stored].arrive();
    }

  private:
    static constexpr int stored = x_steps_stored, ahead = stored - 2;

    __device__ void copy(int at) {
        constexpr int halves = wide_rows * step_columns;
        shared_.there[at % stored].arrive_and_copy(
            threadIdx.x == 0, shared_.x[at % stored],
            from_ + static_cast<std::int64_t>((first_ + at) % steps_) * halves, halves * 2);
    }

    WideShared& shared_;
    const __half* from_;
    int first_, steps_, count_;
};

// A warp's 16 rows of weights: rows lane / 4 and lane / 4 + 8, the latter of `up` if gated.
template <WeightFormat format, bool gated>
struct WarpWeights {
    using Unit = RowUnit<format>;
    DeviceMatrix first, second;
    int row[2], last_unit;

    __device__ WarpWeights(const TilePlace& place, int last) : last_unit(last) {
        const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
        first = place.weights;
        second = gated ? place.up : place.weights;
        const int begin = place.first_row + warp * (gated ? 8 : 16) + lane / 4;
        // Rows that are not there: others, whose results nobody wants.
        row[0] = min(begin, first.rows - 1);
        row[1] = min(gated ? begin : begin + 8, second.rows - 1);
    }
    __device__ __forceinline__ void load(int step, typename Unit::Raw (&to)[2]) const {
        const int unit = min(step * (step_columns / 32) + static_cast<int>(threadIdx.x) % 4, last_unit);
        to[0] = Unit::load(first, row[0], unit);
        to[1] = Unit::load(second, row[1], unit);
    }
};

// sum = the tile's weights times x over the column steps [begin, end), the first of which is step `run` of x.
template <WeightFormat format, bool gated>
__device__ __forceinline__ void multiply_steps(const WarpWeights<format, gated>& weights, XRun& x, int run,
                                               int begin, int end, float (&sum)[wide_rows / 2]) {
    using Unit = RowUnit<format>;
    typename Unit::Raw raw[2][2];  // of this step and of the next
    // The weights in use: 4 pieces of 32 columns, each with 2 products of 16.
    std::uint32_t halves[4][2][4];
#pragma unroll
    for (int i = 0; i < wide_rows / 2; ++i) sum[i] = 0;
    keep(sum);
    weights.load(begin, raw[0]);
    for (int first = begin; first < end; first += 2) {
#pragma unroll
        for (int now = 0; now < 2; ++now) {
            const int step = first + now;
            if (step >= end) break;
            weights.load(min(step + 1, end - 1), raw[1 - now]);
            const std::uint64_t columns = x.take(run + step - begin);
#pragma unroll
            for (int piece = 0; piece < 4; ++piece) {
                wait_for_products<3>();  // the last ones with these registers
                keep(halves[piece]);
                const uint4 a = Unit::halves(raw[now][0], piece), b = Unit::halves(raw[now][1], piece);
                halves[piece][0][0] = a.x, halves[piece][0][1] = b.x;
                halves[piece][0][2] = a.y, halves[piece][0][3] = b.y;
                halves[piece][1][0] = a.z, halves[piece][1][1] = b.z;
                halves[piece][1][2] = a.w, halves[piece][1][3] = b.w;
                keep(halves[piece]);
                begin_products();
#pragma unroll
                for (int k = 2 * piece; k < 2 * piece + 2; ++k)
                    multiply<true>(sum, halves[piece][k % 2],
                                   advanced(columns, k / 4 * (wide_rows * 128) + k % 4 * 32));
                end_of_products();
            }
            if (step > begin) x.release(run + step - begin - 1);
        }
    }
    wait_for_products<0>();
    keep(sum);
    x.release(run + end - begin - 1);
}

// A worker has one block for each piece of wide_rows rows of x, see tile_product().
template <WeightFormat format, bool gated>
__global__ void __launch_bounds__(wide_threads, 1) wide_product(const __grid_constant__ TileArgs args) {
    extern __shared__ __align__(1024) unsigned char memory[];
    const MatmulArgs& a = args.matmul;
    const int worker = static_cast<int>(blockIdx.x) / args.pieces;
    const int piece = static_cast<int>(blockIdx.x) % args.pieces;
    const int first_x = piece * wide_rows, last_unit = a.matrix[0].columns / 32 - 1;
    const std::int64_t first_of_run = first_step(args, worker);
    const int count = static_cast<int>(first_step(args, worker + 1) - first_of_run);
    int tile = static_cast<int>(first_of_run / args.steps);
    int begin = static_cast<int>(first_of_run % args.steps);
    const auto* arranged = static_cast<const __half*>(a.x) +
                           static_cast<std::int64_t>(piece) * args.steps * (wide_rows * step_columns);
    XRun x(*reinterpret_cast<WideShared*>(memory), arranged, begin, args.steps, count);

    for (int run = 0; run < count; ++tile, begin = 0) {
        const int end = min(args.steps, begin + count - run);
        const TilePlace place = place_of<gated>(args, tile);
        float sum[wide_rows / 2];
        multiply_steps<format, gated>(WarpWeights<format, gated>(place, last_unit), x, run, begin, end, sum);
        run += end - begin;
        if (end - begin < args.steps &&
            !add_parts<wide_threads>(args, tile, worker, piece, begin == 0,
                                     reinterpret_cast<float(&)[wide_rows / 16][8]>(sum)))
            continue;
        const int t = static_cast<int>(threadIdx.x);
        const int row = t / 32 * (gated ? 8 : 16) + t % 32 / 4, x_row = first_x + t % 4 * 2;
#pragma unroll
        for (int i = 0; i < wide_rows / 2; ++i) {
            if (gated && sum_row(i) > 0) continue;
            put<gated>(a, place, place.first_row + row + sum_row(i), x_row + sum_column(i), sum[i],
                       gated ? sum[i + 2] : 0.0f);
        }
    }
}

template <WeightFormat format>
void launch_wide_tiles_of(const TileArgs& args, const Stream& stream) {
    const auto kernel = args.matmul.gated ? wide_product<format, true> : wide_product<format, false>;
    cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(WideShared)),
               "shared memory of a tiled product");
    launch("tiled product", kernel, {args.pieces * args.matmul.workers, wide_threads, sizeof(WideShared)},
           stream, args);
}

}  // namespace voltpile::llm
