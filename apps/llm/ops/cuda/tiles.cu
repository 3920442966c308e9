// Matrix products of some rows on tensor cores. A block has a tile of weights and some rows of x; each warp
// has weights of its own, straight from memory, and what it multiplies with them comes through shared memory
// for all. So weights are turned into fp16 once for all rows, and nobody waits for another warp's weights.
#include <algorithm>
#include <utility>

#include "llm/ops/cuda/tiles.cuh"
#include "llm/ops/cuda/x_steps.cuh"

namespace voltpile::llm {

namespace {

constexpr int blocks_each = 2;  // a multiprocessor
constexpr int least_steps = 4;  // of a worker, for whose beginning and sums it pays

// How many steps of weights are in registers: one, and those on their way from memory. Few rows leave it
// little time; with many some formats have no room for more.
__host__ __device__ constexpr int raw_steps(WeightFormat format, int x_rows) {
    if (format == WeightFormat::F16) return copies_run_alone || x_rows <= 16 ? 2 : 1;
    if (copies_run_alone) return x_rows <= 32 ? 3 : 2;
    return format == WeightFormat::Q6_K && x_rows >= 48 ? 1 : 2;
}

// A worker's blocks, each for one piece of x_rows rows of x.
template <WeightFormat format, int x_rows, bool gated>
__global__ void __launch_bounds__(tile_threads, blocks_each) tile_product(const TileArgs args) {
    using Unit = RowUnit<format>;
    extern __shared__ __align__(32) std::uint8_t shared[];
    const MatmulArgs& a = args.matmul;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const int worker = static_cast<int>(blockIdx.x) / args.pieces;
    const int piece = static_cast<int>(blockIdx.x) % args.pieces;
    const int last_unit = a.matrix[0].columns / 32 - 1;
    XSteps<x_rows> x(shared, a, piece * x_rows);

    const std::int64_t first_of_run = first_step(args, worker);
    int tile = static_cast<int>(first_of_run / args.steps);
    int begin = static_cast<int>(first_of_run % args.steps);
    int left = static_cast<int>(first_step(args, worker + 1) - first_of_run);  // steps of the worker
    for (; left > 0; ++tile, begin = 0) {
        const int end = min(args.steps, begin + left);
        left -= end - begin;
        const TilePlace place = place_of<gated>(args, tile);
        const int warp_row = place.first_row + warp * (gated ? warp_weights / 2 : warp_weights);

        // Rows and columns that are not there: others, whose results nobody wants or which x makes 0.
        constexpr int ahead = raw_steps(format, x_rows);
        typename Unit::Raw raw[ahead][lane_units];
        const auto matrix_of = [&](int i) {
            return gated && WarpProduct::row(i) >= 16 ? place.up : place.weights;
        };
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
        float sum[x_rows / x_group][8];
#pragma unroll
        for (auto& group : sum) {
#pragma unroll
            for (float& each : group) each = 0;
        }
        __syncthreads();  // of the tile before nobody reads x any more
#pragma unroll
        for (int i = 0; i < max(1, ahead - 1); ++i) load(min(begin + i, end - 1), raw[i]);
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
                if (ahead > 1 && step + ahead - 1 < end)
                    load(step + ahead - 1, raw[(now + ahead - 1) % ahead]);
                WarpProduct::multiply<format>(raw[now], x.stage(step), sum);
                if (ahead == 1 && step + 1 < end) load(step + 1, raw[0]);
                if (!x.loads_early) x.load(step + 1, end);
                x.store(step + 1);
            }
        }
        wait_for_copies();
        if (end - begin < args.steps && !add_parts(args, tile, worker, piece, begin == 0, sum)) continue;
#pragma unroll
        for (int n = 0; n < x_rows / x_group; ++n) {
            WarpProduct::each_result<gated>(sum[n], [&](int row, int x_row, float result, float other) {
                put<gated>(a, place, warp_row + row, piece * x_rows + n * x_group + x_row, result, other);
            });
        }
    }
}

// `call` gets the rows of x that a block takes as a constant.
template <class Call>
void with_x_rows(int x_rows, const Call& call) {
    if (x_rows <= 16) return call(std::integral_constant<int, 16>());
    if (x_rows <= 32) return call(std::integral_constant<int, 32>());
    if (x_rows <= 48) return call(std::integral_constant<int, 48>());
    return call(std::integral_constant<int, tile_rows>());
}

int tiles_in(const DeviceMatrix& w, bool gated) {
    const int weights = gated ? tile_weights / 2 : tile_weights;
    return (w.rows + weights - 1) / weights;
}
TileArgs tile_args(const MatmulArgs& args) {
    TileArgs tiles{args, {0, 0, 0, 0}, 0, 0, pieces_of(args.rows)};
    tiles.steps = (args.matrix[0].columns + step_columns - 1) / step_columns;
    for (int m = 0; m < args.matrices; ++m)
        tiles.first_tile[m + 1] = tiles.first_tile[m] + tiles_in(args.matrix[m], args.gated);
    tiles.tiles = args.gated ? tiles.first_tile[1] : tiles.first_tile[args.matrices];
    return tiles;
}

}  // namespace

int tiles_of(const MatmulArgs& args) {
    return tile_args(args).tiles;
}

// As many as there is room for at once. Where that costs few of them, each has an equal part of one tile:
// a second one costs a beginning, and sums.
int tile_workers(const MatmulArgs& args, int pieces, int multiprocessors) {
    const TileArgs tiles = tile_args(args);
    const int steps = static_cast<int>(
        std::min<std::int64_t>(static_cast<std::int64_t>(tiles.tiles) * tiles.steps / least_steps, 1 << 20));
    const int places = std::clamp(steps, 1, std::max(1, blocks_each * multiprocessors / pieces));
    const int whole = places / tiles.tiles * tiles.tiles;
    return 5 * whole >= 4 * places ? whole : places;
}

std::size_t tile_scratch_bytes(int rows, int workers) {
    const int pieces = pieces_of(rows);
    return 2 * sizeof(float) * tile_weights * tile_rows * static_cast<std::size_t>(pieces * workers);
}

void launch_tiles(const MatmulArgs& args, const Stream& stream) {
    const TileArgs tiles = tile_args(args);
    const int x_rows = (args.rows + tiles.pieces - 1) / tiles.pieces;
    const bool alone = device_copies_alone();
    with_format(args.matrix[0].format, [&](auto format) {
        with_x_rows(x_rows, [&](auto most) {
            const auto bytes = x_shared_bytes(most.value, alone);
            const auto kernel = args.gated ? tile_product<format.value, most.value, true>
                                           : tile_product<format.value, most.value, false>;
            cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            static_cast<int>(bytes)),
                       "shared memory of a tiled product");
            launch("tiled product", kernel, {tiles.pieces * args.workers, tile_threads, bytes}, stream,
                   tiles);
        });
    });
}

}  // namespace voltpile::llm
