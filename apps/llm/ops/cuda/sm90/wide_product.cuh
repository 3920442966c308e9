// The kernel of tiled products on compute capability 9.0. A block multiplies a tile of weights by
// some rows of x (WideShape). Two warpgroups multiply; another one brings weights and x to shared memory,
// several steps ahead of their use and across the borders of tiles (wide_stages.cuh). A warp expands weights
// to fp16 in its registers while the tensor cores multiply what it expanded before.
#pragma once

#include "llm/ops/cuda/early_launch.cuh"
#include "llm/ops/cuda/sm90/wide_stages.cuh"

namespace voltpile::llm {

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
                                               TileSums<Shape>& sum) {
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

// A worker has one block for each piece of Shape::rows rows of x, see tile_product().
template <WeightFormat format, bool gated, class Shape>
__global__ void __launch_bounds__(wide_threads, 1) wide_product(const __grid_constant__ WideArgs args) {
    extern __shared__ __align__(1024) unsigned char memory[];
    auto& shared = *reinterpret_cast<WideShared<format, Shape>*>(memory);
    const TileRun run(args.tiles);
    let_next_kernel_begin();
    bring_grid<format>(args.tiles.matmul.matrix[0].format);
    shared.start();
    if (threadIdx.x >= multiplying_threads) {
        give_registers<copying_registers>();
        StageSource<format, gated, Shape>(args, run, shared).copy(run.count);
    } else {
        take_registers<multiplying_registers>();
        wait_for_earlier_kernels();
        WideReader<WideShared<format, Shape>> reader(shared);
        multiply_run<Shape>(
            args.tiles, run,
            [&](int, int count, TileSums<Shape>& sum) {
                multiply_steps<format, gated, Shape>(reader, count, sum);
            },
            [&](int tile, int piece) { return TileOutput<gated, Shape>(args.tiles, tile, piece); });
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
