// The division of a tiled product (tiles.cuh), and the launchers of its kernels.
#pragma once

#include "llm/ops/cuda/matmul.h"

namespace voltpile::llm {

constexpr int warp_weights = 32;  // rows
constexpr int step_columns = 128;

constexpr int tile_warps = 4, tile_threads = 32 * tile_warps;
constexpr int tile_weights = warp_weights * tile_warps;

// Returns whether asynchronous copies bring these weights to shared memory, on GPUs that have them, instead
// of loads to registers: more blocks fit and more bytes are under way. Measured to be faster for these.
constexpr bool stages_weights(WeightFormat format) {
    switch (format) {
        case WeightFormat::Q2_K:
        case WeightFormat::Q3_K:
        case WeightFormat::Q4_K:
        case WeightFormat::Q5_K:
        case WeightFormat::Q6_K:
            return true;
        default:
            return false;
    }
}
// Returns the blocks of a multiprocessor, with pieces of x_rows rows of x. alone: device_copies_alone().
constexpr int tile_blocks(WeightFormat format, int x_rows, bool alone) {
    if (!alone || !stages_weights(format)) return tile_blocks_each;
    return x_rows <= 16 ? 4 : x_rows <= 32 ? 3 : 2;
}

struct TileArgs {
    MatmulArgs matmul;
    int first_tile[4];  // of each matrix
    int tiles;
    int steps;   // of a tile
    int pieces;  // of the rows of x: blocks are worker 0's, one for each piece, then worker 1's
};
// Returns the division for pieces of piece_rows rows of x.
TileArgs tile_args(const MatmulArgs& args, int piece_rows);

// Each format has its own source file, product_*.cu, because compiling takes long.
template <WeightFormat format>
void launch_tiles_of(const TileArgs& args, const Stream& stream);

}  // namespace voltpile::llm
