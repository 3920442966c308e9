// The division of a tiled product (tiles.cuh), and the launchers of its kernels.
#pragma once

#include "llm/ops/cuda/loaded_code.h"
#include "llm/ops/cuda/matmul.h"

namespace voltpile::llm {

constexpr int warp_weights = 32;  // rows
constexpr int step_columns = 128;

constexpr int tile_warps = 4, tile_threads = 32 * tile_warps;
constexpr int tile_weights = warp_weights * tile_warps;

// Returns whether asynchronous copies bring these weights to shared memory, instead of loads to registers, on
// GPUs with 228 KB of it (tile_product.cuh).
constexpr bool stages_weights(WeightFormat format) {
    return info(gpu_layout(format)).gpu.tile_loads == TileLoads::Staged;
}
// Returns whether the code that the current GPU runs does: see weights_are_staged.
inline bool device_stages_weights() {
    const int code = loaded_code();
    return code >= 90 && code < 120;
}
// Returns the blocks of a multiprocessor, with pieces of x_rows rows of x. staged: device_stages_weights().
constexpr int tile_blocks(WeightFormat format, int x_rows, bool staged) {
    if (!staged || !stages_weights(format)) return tile_blocks_each;
    return x_rows <= 16 ? 4 : x_rows <= 32 ? 3 : 2;
}

// Of one launch of wide tiles, and of products of integers: with more, multiprocessors would not divide
// evenly among them.
constexpr int most_pieces = 16;

struct TileArgs {
    MatmulArgs matmul;
    int first_tile[4];  // of each matrix
    int tiles;
    int steps;      // of a tile
    int pieces;     // of the rows of x: blocks are worker 0's, one for each piece, then worker 1's
    int begin = 0;  // the first tile of the launch, from which kernels count; first_tile does not
};
// Returns the division for pieces of piece_rows rows of x and tiles of `weights` rows of weights.
TileArgs tile_args(const MatmulArgs& args, int piece_rows, int weights = tile_weights);
// Returns at most most_workers workers, each with some steps. If it costs at most a fifth of them, no worker
// gets parts of two tiles, because a second tile costs another start and another sum.
int workers_of(const TileArgs& tiles, int most_workers);

// Each format has its own source file (formats/product.cu.in), because compiling takes long.
template <WeightFormat format>
void launch_tiles_of(const TileArgs& args, const Stream& stream);

}  // namespace voltpile::llm
