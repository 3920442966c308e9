// Tiled products with experts: a block multiplies a tile of an expert's matrix by a piece of its pairs. It
// has all columns of the tile, so that a result depends on its row alone.
#pragma once

#include "llm/ops/cuda/expert_rows.cuh"

namespace voltpile::llm {

// Where the pieces and the sorted pairs of experts begin, in shared memory: (experts + 1) numbers each.
struct ExpertBegins {
    int* piece;
    int* pair;
};

// Counts the pieces of all experts. One warp calls it.
__device__ inline void find_begins(const Routing& routing, int x_rows, const ExpertBegins& begins) {
    const int pieces = count_pieces(routing, x_rows, [&](int e, int first, int, int pair, int) {
        begins.piece[e] = first;
        begins.pair[e] = pair;
    });
    if (threadIdx.x % 32 > 0) return;
    begins.piece[routing.experts] = pieces;
    begins.pair[routing.experts] = routing.begin[routing.experts];
}

// Returns the expert that a piece belongs to: the last with first_piece[e] <= piece.
__device__ inline int expert_of(const int* first_piece, int experts, int piece) {
    int low = 0, high = experts;  // first_piece[low] <= piece < first_piece[high]
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        if (first_piece[middle] <= piece) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

// Returns the blocks on a multiprocessor. With few rows, a block computes little and waits much, and its sums
// leave registers for another block, which load a step less ahead.
constexpr int expert_tile_blocks(WeightFormat format, int x_rows, bool alone, bool staged) {
    if (staged && stages_weights(format)) return tile_blocks(format, x_rows, staged);
    return alone && x_rows <= 16 && format != WeightFormat::F16 ? 3 : tile_blocks_each;
}
template <WeightFormat format, int x_rows>
struct ExpertTileShape {
    static constexpr int blocks = expert_tile_blocks(format, x_rows, copies_run_alone, weights_are_staged);
    static constexpr int ahead = blocks > tile_blocks_each ? 2 : raw_steps(format, x_rows);
};

struct PairRange {
    int begin, end, expert;
};

template <WeightFormat format, int x_rows, bool gated>
__global__ void __launch_bounds__(tile_threads, ExpertTileShape<format, x_rows>::blocks)
    expert_tiles(const ExpertArgs args, int numbers_at) {
    extern __shared__ __align__(32) std::uint8_t shared[];
    // Of the item in progress and of the one before it, which some warps may not have finished.
    __shared__ int row_of[2][x_rows];
    __shared__ PairRange pairs_of_piece[2];
    const Routing& routing = args.routing;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const int columns = args.matrix[0].first.columns;
    constexpr int tile_outputs = gated ? gated_tile_columns : tile_columns;
    auto* const numbers = reinterpret_cast<int*>(shared + numbers_at);
    auto& staged = *reinterpret_cast<TileWeights<format>*>(shared + TileWeightsPlace<x_rows>::offset);
    const ExpertBegins begins{numbers, numbers + routing.experts + 1};
    bring_grid<format>(args.matrix[0].first.format);
    begin_after_earlier_kernels();
    if (warp == 0) find_begins(routing, x_rows, begins);
    __syncthreads();
    const int items = begins.piece[routing.experts] * args.tiles;
    int parity = 0;
    for (int item = static_cast<int>(blockIdx.x); item < items; item += static_cast<int>(gridDim.x)) {
        const int piece = item / args.tiles, tile = item % args.tiles;
        const int expert = expert_of(begins.piece, routing.experts, piece);
        const int begin = begins.pair[expert] + (piece - begins.piece[expert]) * x_rows;
        const int rows = min(begins.pair[expert + 1] - begin, x_rows);
        parity ^= 1;
        if (threadIdx.x == 0) pairs_of_piece[parity] = {begin, begin + rows, expert};
        if (gated && threadIdx.x < x_rows)
            row_of[parity][threadIdx.x] =
                static_cast<int>(threadIdx.x) < rows ? routing.row[begin + threadIdx.x] : -1;
        XSteps<x_rows, gated> x(shared, args.x, columns, gated ? 0 : begin, begin + rows, row_of[parity]);
        const DeviceMatrix weights = shifted(args.matrix[0].first, shift_of(args.matrix[0], expert));
        const DeviceMatrix up =
            gated ? shifted(args.matrix[1].first, shift_of(args.matrix[1], expert)) : weights;
        const int first_row = (args.first_tile + tile) * tile_outputs + warp * (tile_outputs / tile_warps);
        float sum[x_rows / x_group][8];
        multiply_steps<format, x_rows, gated, ExpertTileShape<format, x_rows>::ahead>(
            weights, up, columns / 32 - 1, first_row, 0, (columns + step_columns - 1) / step_columns, x,
            staged, sum);
        const PairRange pairs = pairs_of_piece[parity];  // read again: the product needs all registers
        store_products<gated>(args, first_row, pairs.begin, pairs.end, pairs.expert, sum);
    }
}

template <WeightFormat format>
void launch_expert_tiles_of(const ExpertArgs& args, int multiprocessors, const Stream& stream) {
    const int pairs = args.rows * args.routing.used, experts = args.routing.experts;
    // Twice the mean of an expert's pairs: few experts then have several pieces.
    const int rows = 2 * pairs / args.routing.all_experts;
    // Depends on nothing but the routing: the down product of expert_rows.cuh reads the routing before it
    // waits, and relies on the gated product having done the same.
    if (rows <= x_group) return launch_expert_rows_of<format>(args, multiprocessors, stream);
    with_x_rows(min(rows, tile_rows), [&](auto most) {
        const bool alone = device_copies_alone(), staged = device_stages_weights();
        const auto numbers_at = x_shared_bytes(most.value, alone) + weights_shared_bytes<format>(staged);
        const std::size_t bytes = numbers_at + 2 * static_cast<std::size_t>(experts + 1) * sizeof(int);
        const auto kernel =
            args.gated ? expert_tiles<format, most.value, true> : expert_tiles<format, most.value, false>;
        cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                        static_cast<int>(bytes)),
                   "shared memory of a tiled product with experts");
        const int pieces = min(pairs, min(pairs, experts) + pairs / most.value);
        const int blocks =
            min(expert_tile_blocks(format, most.value, alone, staged) * multiprocessors, pieces * args.tiles);
        launch_early("tiled product with experts", kernel, {blocks, tile_threads, bytes}, stream, args,
                     static_cast<int>(numbers_at));
    });
}

}  // namespace voltpile::llm
