// The kernel of tiled products on compute capability 9.0. A block multiplies a tile of weights by
// some rows of x (WideShape). Two warpgroups multiply; another one brings weights and x to shared memory,
// several steps ahead of their use and across the borders of tiles (wide_stages.cuh). A warp expands weights
// to fp16 in its registers while the tensor cores multiply what it expanded before.
#pragma once

#include "llm/ops/cuda/early_launch.cuh"
#include "llm/ops/cuda/sm90/tile_output.cuh"
#include "llm/ops/cuda/sm90/wide_stages.cuh"

namespace voltpile::llm {

// A thread's sums, and the same in fours: n counts through all slabs.
template <class Shape>
using WideSums = float[Shape::slabs][Shape::rows / 2];
constexpr int quads = 32;
template <int slabs, int size>
__device__ __forceinline__ float4 quad_of(const float (&sum)[slabs][size], int n) {
    const float* of = sum[n / (size / 4)] + n % (size / 4) * 4;
    return make_float4(of[0], of[1], of[2], of[3]);
}

// The rings of a block, for a warp that multiplies.
template <class SharedOf>
struct WideReader {
    using Shared = SharedOf;
    Shared& shared;
    RingReader<RingBarriers<Shared::chunks>> x;
    RingReader<RingBarriers<Shared::stages>> weights;
    __device__ explicit WideReader(Shared& from) : shared(from), x(from.x_ring), weights(from.weights_ring) {}
};

// sum = the weights of the warpgroup times x over `count` steps.
template <WeightFormat format, bool gated, class Shape>
__device__ __forceinline__ void multiply_steps(WideReader<WideShared<format, Shape>>& reader, int count,
                                               WideSums<Shape>& sum) {
    using Unit = RowUnit<format>;
    constexpr int slabs = Shape::slabs;
    typename Unit::Raw raw[slabs][2];
    std::uint32_t halves[2][2][4];  // of 32 columns of a slab, in use and the ones before: 2 products of 16
#pragma unroll
    for (auto& slab : sum) {
#pragma unroll
        for (float& each : slab) each = 0;
        keep(slab);
    }
    for (int step = 0; step < count; ++step) {
        const auto& stage = reader.shared.weights[reader.weights.take()];
#pragma unroll
        for (int slab = 0; slab < slabs; ++slab) read_stage<format, gated>(stage, slab, raw[slab]);
        std::uint64_t columns = 0;
#pragma unroll
        for (int i = 0; i < 4 * slabs; ++i) {
            const int piece = i / slabs, slab = i % slabs;
            if (i % (2 * slabs) == 0) columns = describe(reader.shared.x[reader.x.take()]);
            auto& now = halves[i % 2];
            wait_for_products<1>();  // the last ones with these registers
            keep(now);
            if (i % (2 * slabs) == 1) reader.x.release_before();
            if (i == 1) reader.weights.release_before();
            const uint4 a = Unit::halves(raw[slab][0], piece), b = Unit::halves(raw[slab][1], piece);
            now[0][0] = a.x, now[0][1] = b.x;
            now[0][2] = a.y, now[0][3] = b.y;
            now[1][0] = a.z, now[1][1] = b.z;
            now[1][2] = a.w, now[1][3] = b.w;
            keep(now);
            begin_products();
#pragma unroll
            for (int k = 0; k < 2; ++k)
                multiply<true>(sum[slab], now[k], advanced(columns, (piece % 2 * 2 + k) * 32));
            end_of_products();
        }
    }
    wait_for_products<0>();
    for (auto& slab : sum) keep(slab);
}

// The sum of a tile that several workers have parts of: each has written its own, and adds up a share of the
// elements of all, in the order of the columns.
template <bool gated, class Shape>
class SharedTile {
  public:
    __device__ SharedTile(const TileArgs& args, int tile, const WideRun& run)
        : args_(args), tile_(tile), worker_(run.worker), piece_(run.piece) {
        const std::int64_t begin = static_cast<std::int64_t>(tile) * args.steps;
        first_ = worker_of(args, begin);
        workers_ = worker_of(args, begin + args.steps - 1) - first_ + 1;
    }
    __device__ __forceinline__ void write(bool beginning, const WideSums<Shape>& sum) const {
        float4* to = part_of<quads / 2, multiplying_threads>(args_, worker_, piece_, beginning);
#pragma unroll
        for (int n = 0; n < quads; ++n) to[n * multiplying_threads] = quad_of(sum, n);
        __threadfence();
        meet_at(1, multiplying_threads);
        if (threadIdx.x == 0) atomicAdd(&counter(), 1);
    }
    // Waits for the others. All blocks run at once: see launch_wide_tiles().
    __device__ __forceinline__ void add() const {
        if (threadIdx.x == 0) {
            while (written() < workers_) {
            }
            if (atomicAdd(&counter(), 1) == 2 * workers_ - 1) counter() = 0;
        }
        meet_at(1, multiplying_threads);
        const TileOutput<gated, Shape> out(args_, tile_, piece_);
        const int me = worker_ - first_, end = quads * (me + 1) / workers_;
        for (int n = quads * me / workers_; n < end; n += at_once) add_quads(out, n, min(at_once, end - n));
    }

  private:
    static constexpr int at_once = 8, workers_at_once = 4;

    // Of `count` quads from n on. Loads many at once, because each takes long.
    __device__ __forceinline__ void add_quads(const TileOutput<gated, Shape>& out, int n, int count) const {
        float4 sum[at_once] = {};
#pragma unroll 1
        for (int first = 0; first < workers_; first += workers_at_once) {
            float4 v[workers_at_once][at_once];
#pragma unroll
            for (int w = 0; w < workers_at_once; ++w) {
                const int i = first + w;
                const float4* part =
                    part_of<quads / 2, multiplying_threads>(args_, first_ + i, piece_, i == 0) +
                    n * multiplying_threads;
#pragma unroll
                for (int q = 0; q < at_once; ++q)
                    v[w][q] = i < workers_ && q < count ? written_elsewhere(part + q * multiplying_threads)
                                                        : float4{};
            }
#pragma unroll
            for (int w = 0; w < workers_at_once; ++w) {
#pragma unroll
                for (int q = 0; q < at_once; ++q) {
                    sum[q].x += v[w][q].x;
                    sum[q].y += v[w][q].y;
                    sum[q].z += v[w][q].z;
                    sum[q].w += v[w][q].w;
                }
            }
        }
#pragma unroll
        for (int q = 0; q < at_once; ++q)
            if (q < count) out.put_quad(n + q, sum[q]);
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

// The warpgroups of a block: they multiply, and write or share the sums.
template <WeightFormat format, bool gated, class Shape>
__device__ __forceinline__ void multiply_run(const TileArgs& args, const WideRun& run,
                                             WideShared<format, Shape>& shared) {
    WideReader<WideShared<format, Shape>> reader(shared);
    int tile = run.tile, begin = run.begin;
    for (int done = 0; done < run.count; ++tile, begin = 0) {
        const int steps = min(args.steps - begin, run.count - done);
        WideSums<Shape> sum;
        multiply_steps<format, gated, Shape>(reader, steps, sum);
        done += steps;
        if (steps < args.steps) {
            SharedTile<gated, Shape>(args, tile, run).write(begin == 0, sum);
            continue;
        }
        const TileOutput<gated, Shape> out(args, tile, run.piece);
#pragma unroll
        for (int n = 0; n < quads; ++n) out.put_quad(n, quad_of(sum, n));
    }
    // The tiles at both ends of the run.
    if (run.begin > 0 || run.count < args.steps) SharedTile<gated, Shape>(args, run.tile, run).add();
    if (tile - 1 != run.tile && (run.begin + run.count) % args.steps != 0)
        SharedTile<gated, Shape>(args, tile - 1, run).add();
}

// A worker has one block for each piece of Shape::rows rows of x, see tile_product().
template <WeightFormat format, bool gated, class Shape>
__global__ void __launch_bounds__(wide_threads, 1) wide_product(const __grid_constant__ WideArgs args) {
    extern __shared__ __align__(1024) unsigned char memory[];
    auto& shared = *reinterpret_cast<WideShared<format, Shape>*>(memory);
    const WideRun run(args.tiles);
    let_next_kernel_begin();
    bring_grid<format>(args.tiles.matmul.matrix[0].format);
    shared.start();
    if (threadIdx.x >= multiplying_threads) {
        give_registers<copying_registers>();
        StageSource<format, gated, Shape>(args, run, shared).copy(run.count);
    } else {
        take_registers<multiplying_registers>();
        wait_for_earlier_kernels();
        multiply_run<format, gated, Shape>(args.tiles, run, shared);
    }
}

// The planes that bulk copies bring, as matrices of bytes.
template <WeightFormat format, class Shape>
void describe_planes(WideArgs& args) {
    using Bytes = StagedBytes<format>;
    using Stage = WideStage<format, Shape>;
    const MatmulArgs& a = args.tiles.matmul;
    for (int m = 0; m < a.matrices; ++m) {
        const DeviceMatrix& w = a.matrix[m];
        const std::int64_t units = w.columns / 32;
        if constexpr (Bytes::row > 0) {
            args.quants[m] = tensor_map({w.quants, w.rows, units * (Bytes::row / step_units)}, Bytes::row,
                                        Stage::box_weights, swizzles_quants<format>);
        } else {
            args.quants[m] = tensor_map({w.quants, groups_of(w.rows), units * Bytes::pair_quants},
                                        step_units * Bytes::pair_quants, Stage::box_groups, false);
        }
        if constexpr (Bytes::high > 0)
            args.high[m] = tensor_map({w.high, groups_of(w.rows), units * Bytes::high},
                                      step_units * Bytes::high, Stage::box_groups, false);
    }
}

template <WeightFormat format, class Shape>
void launch_wide_product(const TileArgs& tiles, const Stream& stream) {
    using Shared = WideShared<format, Shape>;
    WideArgs args;
    args.tiles = tiles;
    describe_planes<format, Shape>(args);
    const auto kernel =
        tiles.matmul.gated ? wide_product<format, true, Shape> : wide_product<format, false, Shape>;
    cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Shared)),
               "shared memory of a tiled product");
    launch_early("tiled product", kernel, {tiles.pieces * tiles.matmul.workers, wide_threads, sizeof(Shared)},
                 stream, args);
}

template <WeightFormat format>
void launch_wide_tiles_of(const TileArgs& args, int slabs, const Stream& stream) {
    if (slabs == 2) return launch_wide_product<format, WideShape<2>>(args, stream);
    launch_wide_product<format, WideShape<1>>(args, stream);
}

}  // namespace voltpile::llm
