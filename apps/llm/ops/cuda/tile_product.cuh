// The kernel of tiled products: a matrix times some rows of x on tensor cores. A block has a tile of weights
// and some rows of x. Each warp loads its own weights, directly from memory or through shared memory
// (stages_weights()); x comes through shared memory for all warps. Weights are therefore expanded to fp16
// once for all rows of x, and no warp waits for another's weights.
#pragma once

#include <type_traits>

#include "llm/ops/cuda/early_launch.cuh"
#include "llm/ops/cuda/grids/table.cuh"
#include "llm/ops/cuda/staged_weights.cuh"
#include "llm/ops/cuda/tiles.cuh"
#include "llm/ops/cuda/x_steps.cuh"

namespace voltpile::llm {

// Returns how many steps of weights are in registers: the one in use and those being loaded. With few rows a
// step takes little time, so more are loaded ahead; with many rows some formats have no registers for that.
__host__ __device__ constexpr int raw_steps(WeightFormat format, int x_rows) {
    if (format == WeightFormat::F16) return copies_run_alone || x_rows <= 16 ? 2 : 1;
    if (copies_run_alone) return x_rows <= 32 ? 3 : 2;
    return format == WeightFormat::Q6_K && x_rows >= 48 ? 1 : 2;
}

// Compute capability 9.0 to 11: 228 KB of shared memory. Others have no room for as many blocks.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1200
constexpr bool weights_are_staged = true;
#else
constexpr bool weights_are_staged = false;
#endif

// The weights of a block on their way through shared memory.
template <WeightFormat format>
struct TileWeights {
    static constexpr int stages = x_stages(true);
    static constexpr bool used = weights_are_staged && stages_weights(format);
    StagedWeights<format, warp_weights> of_warp[tile_warps][stages];
};
// Where they begin in shared memory: behind x.
template <int x_rows>
struct TileWeightsPlace {
    static constexpr std::size_t offset = x_shared_bytes(x_rows, copies_run_alone);
};
// staged: device_stages_weights().
template <WeightFormat format>
constexpr std::size_t weights_shared_bytes(bool staged) {
    return staged && stages_weights(format) ? sizeof(TileWeights<format>) : 0;
}

// Returns the shared memory with which at most as many blocks as needed fit on a multiprocessor. Blocks that
// begin early (early_launch.cuh) would otherwise gather on the multiprocessors that are free first.
inline std::size_t spread_bytes(std::size_t needed, int blocks) {
    if (!device_launches_early()) return needed;
    const int multiprocessors = current_attribute(cudaDevAttrMultiProcessorCount);
    const int each = (blocks + multiprocessors - 1) / multiprocessors;
    const int all = current_attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
    return max(needed, static_cast<std::size_t>(all / (each + 1)));
}

// As multiply_steps() below, by asynchronous copies.
template <WeightFormat format, int x_rows, bool gated, class X>
__device__ __forceinline__ void multiply_staged(const DeviceMatrix& weights, const DeviceMatrix& up,
                                                int warp_row, int begin, int end, X& x,
                                                TileWeights<format>& staged,
                                                float (&sum)[x_rows / x_group][8]) {
    constexpr int stages = TileWeights<format>::stages;
    auto& stage = staged.of_warp[threadIdx.x / 32];
    WarpWeights<format, gated, warp_weights> source;
    source.go_to(weights, gated ? up : weights, warp_row);
#pragma unroll
    for (auto& group : sum) {
#pragma unroll
        for (float& each : group) each = 0;
    }
    __syncwarp();  // of the tile before no lane reads weights any more
#pragma unroll
    for (int i = 0; i < stages - 1; ++i)
        if (begin + i < end) source.copy(begin + i, stage[i]);
    wait_for_earlier_kernels();
    __syncthreads();  // nor does anybody read x
#pragma unroll
    for (int i = 0; i < stages - 1; ++i) x.copy(begin + i, end);
    for (int first = begin; first < end; first += stages) {
#pragma unroll
        for (int now = 0; now < stages; ++now) {
            const int step = first + now;
            if (step >= end) break;
            wait_for_earlier_copies<stages - 2>();
            __syncthreads();
            if (step + stages - 1 < end) source.copy(step + stages - 1, stage[(now + stages - 1) % stages]);
            x.copy(step + stages - 1, end);
            typename RowUnit<format>::Raw raw[lane_units];
            read_staged<format, warp_weights>(stage[now], raw);
            multiply_shared<format>(raw, x.stage(step), sum);
        }
    }
    wait_for_copies();
}

// Sets sum to the products of a warp's rows of weights, from warp_row on, with all rows of x, over the steps
// [begin, end) of the columns, of which last_unit is the last unit. ahead: see raw_steps(). A gated warp has
// as many rows of `up` as of `weights`. staged: shared memory, if TileWeights::used.
template <WeightFormat format, int x_rows, bool gated, int ahead = raw_steps(format, x_rows), class X>
__device__ __forceinline__ void multiply_steps(const DeviceMatrix& weights, const DeviceMatrix& up,
                                               int last_unit, int warp_row, int begin, int end, X& x,
                                               TileWeights<format>& staged,
                                               float (&sum)[x_rows / x_group][8]) {
    if constexpr (TileWeights<format>::used)
        return multiply_staged<format, x_rows, gated>(weights, up, warp_row, begin, end, x, staged, sum);
    using Unit = RowUnit<format>;
    // Rows and columns that are not there: others, whose results nobody wants or which x makes 0.
    typename Unit::Raw raw[ahead][lane_units];
    const auto matrix_of = [&](int i) { return gated && WarpProduct::row(i) >= 16 ? up : weights; };
    const DeviceMatrix halves[2] = {matrix_of(0), matrix_of(lane_units / 2)};
    const auto load = [&](int step, typename Unit::Raw(&to)[lane_units]) {
#pragma unroll
        for (int i = 0; i < lane_units; ++i) {
            const int r = WarpProduct::row(i);
            const DeviceMatrix& w = halves[i / (lane_units / 2)];
            const int row = min(warp_row + (gated ? r % 16 : r), w.rows - 1);
            to[i] = Unit::load(w, row, min(step * lane_units + WarpProduct::unit(i), last_unit));
        }
    };
#pragma unroll
    for (auto& group : sum) {
#pragma unroll
        for (float& each : group) each = 0;
    }
#pragma unroll
    for (int i = 0; i < max(1, ahead - 1); ++i) load(min(begin + i, end - 1), raw[i]);
    wait_for_earlier_kernels();
    __syncthreads();  // of the tile before nobody reads x any more
    x.copy(begin, end);
    x.copy(begin + 1, end);
    x.load(begin, end);
    x.store(begin);
    for (int first = begin; first < end; first += ahead) {
#pragma unroll
        for (int now = 0; now < ahead; ++now) {
            const int step = first + now;
            if (step >= end) break;
            wait_for_earlier_copies<1>();
            __syncthreads();
            x.copy(step + 2, end);
            if (x.loads_early) x.load(step + 1, end);
            if (ahead > 1 && step + ahead - 1 < end) load(step + ahead - 1, raw[(now + ahead - 1) % ahead]);
            multiply_shared<format>(raw[now], x.stage(step), sum);
            if (ahead == 1 && step + 1 < end) load(step + 1, raw[0]);
            if (!x.loads_early) x.load(step + 1, end);
            x.store(step + 1);
        }
    }
    wait_for_copies();
}

// A worker has one block for each piece of x_rows rows of x.
template <WeightFormat format, int x_rows, bool gated>
__global__ void __launch_bounds__(tile_threads, tile_blocks(format, x_rows, weights_are_staged))
    tile_product(const TileArgs args) {
    extern __shared__ __align__(32) std::uint8_t shared[];
    auto& staged = *reinterpret_cast<TileWeights<format>*>(shared + TileWeightsPlace<x_rows>::offset);
    const MatmulArgs& a = args.matmul;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const int worker = static_cast<int>(blockIdx.x) / args.pieces;
    const int piece = static_cast<int>(blockIdx.x) % args.pieces;
    const int last_unit = a.matrix[0].columns / 32 - 1;
    XSteps<x_rows> x(shared, a.x, a.matrix[0].columns, piece * x_rows, a.rows);

    let_next_kernel_begin();
    bring_grid<format>(a.matrix[0].format);
    const std::int64_t first_of_run = first_step(args, worker);
    int tile = static_cast<int>(first_of_run / args.steps);
    int begin = static_cast<int>(first_of_run % args.steps);
    int left = static_cast<int>(first_step(args, worker + 1) - first_of_run);  // steps of the worker
    for (; left > 0; ++tile, begin = 0) {
        const int end = min(args.steps, begin + left);
        left -= end - begin;
        const TilePlace place = place_of<gated>(args, tile);
        const int warp_row = place.first_row + warp * (gated ? warp_weights / 2 : warp_weights);
        float sum[x_rows / x_group][8];
        multiply_steps<format, x_rows, gated>(place.weights, place.up, last_unit, warp_row, begin, end, x,
                                              staged, sum);
        if (end - begin < args.steps && !add_parts(args, tile, worker, piece, begin == 0, sum)) continue;
#pragma unroll
        for (int n = 0; n < x_rows / x_group; ++n) {
            WarpProduct::each_result<gated>(sum[n], [&](int row, int x_row, float result, float other) {
                put<gated>(a, place, warp_row + row, piece * x_rows + n * x_group + x_row, result, other);
            });
        }
    }
}

// Calls `call` with the rows of x of a block as a compile-time constant.
template <class Call>
void with_x_rows(int x_rows, const Call& call) {
    if (x_rows <= 16) return call(std::integral_constant<int, 16>());
    if (x_rows <= 32) return call(std::integral_constant<int, 32>());
    if (x_rows <= 48) return call(std::integral_constant<int, 48>());
    return call(std::integral_constant<int, tile_rows>());
}

template <WeightFormat format>
void launch_tiles_of(const TileArgs& args, const Stream& stream) {
    const MatmulArgs& a = args.matmul;
    with_x_rows((a.rows + args.pieces - 1) / args.pieces, [&](auto most) {
        const bool alone = device_copies_alone();
        const int blocks = args.pieces * a.workers;
        const auto bytes = spread_bytes(
            x_shared_bytes(most.value, alone) + weights_shared_bytes<format>(device_stages_weights()),
            blocks);
        const auto kernel =
            a.gated ? tile_product<format, most.value, true> : tile_product<format, most.value, false>;
        cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                        static_cast<int>(bytes)),
                   "shared memory of a tiled product");
        launch_early("tiled product", kernel, {blocks, tile_threads, bytes}, stream, args);
    });
}

}  // namespace voltpile::llm
