// Wide tiles of products, and those of integers: the runs of blocks, and sums of which several workers have
// parts. A Shape has:
//   warpgroups   of 128 threads that multiply, the first ones of a block; threads: theirs
//   slabs        of 64 rows of weights, of each warpgroup
//   weights      rows of weights of a tile
//   rows         rows of x of a tile
#pragma once

#include "llm/ops/cuda/named_barrier.cuh"
#include "llm/ops/cuda/tile_output.cuh"

namespace voltpile::llm {

// The steps of a block: `count` from step `begin` of tile `tile` on.
struct TileRun {
    int worker, piece, tile, begin, count;
    __device__ explicit TileRun(const TileArgs& args)
        : worker(static_cast<int>(blockIdx.x) / args.pieces),
          piece(static_cast<int>(blockIdx.x) % args.pieces) {
        const std::int64_t first = first_step(args, worker);
        tile = static_cast<int>(first / args.steps);
        begin = static_cast<int>(first % args.steps);
        count = static_cast<int>(first_step(args, worker + 1) - first);
    }
};

// A thread's sums, and the same in fours: n counts through all slabs.
template <class Shape>
using TileSums = float[Shape::slabs][Shape::rows / 2];
template <class Shape>
constexpr int quads = Shape::slabs* Shape::rows / 8;
template <int slabs, int size>
__device__ __forceinline__ float4 quad_of(const float (&sum)[slabs][size], int n) {
    const float* of = sum[n / (size / 4)] + n % (size / 4) * 4;
    return make_float4(of[0], of[1], of[2], of[3]);
}

// The sum of a tile that several workers have parts of: each has written its own, and adds up a share of the
// elements of all, in the order of the columns.
template <class Shape>
class SharedTile {
  public:
    __device__ SharedTile(const TileArgs& args, int tile, const TileRun& run)
        : args_(args), tile_(tile), worker_(run.worker), piece_(run.piece) {
        const std::int64_t begin = static_cast<std::int64_t>(tile) * args.steps;
        first_ = worker_of(args, begin);
        workers_ = worker_of(args, begin + args.steps - 1) - first_ + 1;
    }
    __device__ __forceinline__ void write(bool beginning, const TileSums<Shape>& sum) const {
        float4* to = part_of<quads<Shape> / 2, threads>(args_, worker_, piece_, beginning);
#pragma unroll
        for (int n = 0; n < quads<Shape>; ++n) to[n * threads] = quad_of(sum, n);
        __threadfence();
        meet_at(1, threads);
        if (threadIdx.x == 0) atomicAdd(&counter(), 1);
    }
    // Waits for the others. All blocks run at once. output_of: see multiply_run().
    template <class OutputOf>
    __device__ __forceinline__ void add(const OutputOf& output_of) const {
        if (threadIdx.x == 0) {
            while (written() < workers_) {
            }
            if (atomicAdd(&counter(), 1) == 2 * workers_ - 1) counter() = 0;
        }
        meet_at(1, threads);
        const auto out = output_of(tile_, piece_);
        const int me = worker_ - first_, end = quads<Shape> * (me + 1) / workers_;
        for (int n = quads<Shape> * me / workers_; n < end; n += at_once)
            add_quads(out, n, min(at_once, end - n));
    }

  private:
    static constexpr int threads = Shape::threads;
    static constexpr int at_once = quads<Shape> / 4, workers_at_once = 4;

    // Of `count` quads from n on. Loads many at once, because each takes long.
    template <class Output>
    __device__ __forceinline__ void add_quads(const Output& out, int n, int count) const {
        float4 sum[at_once] = {};
#pragma unroll 1
        for (int first = 0; first < workers_; first += workers_at_once) {
            float4 v[workers_at_once][at_once];
#pragma unroll
            for (int w = 0; w < workers_at_once; ++w) {
                const int i = first + w;
                const float4* part =
                    part_of<quads<Shape> / 2, threads>(args_, first_ + i, piece_, i == 0) + n * threads;
#pragma unroll
                for (int q = 0; q < at_once; ++q)
                    v[w][q] = i < workers_ && q < count ? written_elsewhere(part + q * threads) : float4{};
            }
#pragma unroll
            for (int w = 0; w < workers_at_once; ++w) {
#pragma unroll
                for (int q = 0; q < at_once; ++q) Output::add(sum[q], v[w][q]);
            }
        }
        constexpr int each = slab_quads<Shape>;
        if (count == at_once && n % each + at_once <= each) return out.put_quads(n, sum);
#pragma unroll
        for (int q = 0; q < at_once; ++q) {
            const float4 one[] = {sum[q]};
            if (q < count) out.put_quads(n + q, one);
        }
    }
    __device__ int& counter() const {
        return args_.matmul.counters[tile_ * args_.pieces + piece_];
    }
    __device__ int written() const {
        int value;
        asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(value) : "l"(&counter()) : "memory");
        return value;
    }

    const TileArgs& args_;
    int tile_, worker_, piece_, first_, workers_;
};

// What the multiplying threads of a block do: multiply(begin, count, sum) sets sum to the products over
// `count` steps of a tile from `begin` on. output_of(tile, piece) returns where the sums of a tile go, as
// TileOutput does.
template <class Shape, class Multiply, class OutputOf>
__device__ __forceinline__ void multiply_run(const TileArgs& args, const TileRun& run,
                                             const Multiply& multiply, const OutputOf& output_of) {
    int tile = run.tile, begin = run.begin;
    for (int done = 0; done < run.count; ++tile, begin = 0) {
        const int steps = min(args.steps - begin, run.count - done);
        TileSums<Shape> sum;
        multiply(begin, steps, sum);
        done += steps;
        if (steps < args.steps) {
            SharedTile<Shape>(args, tile, run).write(begin == 0, sum);
            continue;
        }
        const auto out = output_of(tile, run.piece);
        constexpr int at_once = quads<Shape> < 4 ? quads<Shape> : 4;
#pragma unroll
        for (int n = 0; n < quads<Shape>; n += at_once) {
            float4 some[at_once];
#pragma unroll
            for (int q = 0; q < at_once; ++q) some[q] = quad_of(sum, n + q);
            out.put_quads(n, some);
        }
    }
    // The tiles at both ends of the run.
    if (run.begin > 0 || run.count < args.steps) SharedTile<Shape>(args, run.tile, run).add(output_of);
    if (tile - 1 != run.tile && (run.begin + run.count) % args.steps != 0)
        SharedTile<Shape>(args, tile - 1, run).add(output_of);
}

}  // namespace voltpile::llm
