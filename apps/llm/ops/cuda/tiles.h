// The division of a tiled product (tiles.cuh), and the launchers of its kernels.
#pragma once

#include "llm/ops/cuda/matmul.h"

namespace voltpile::llm {

constexpr int warp_weights = 32;  // rows
constexpr int step_columns = 128;

constexpr int tile_warps = 4, tile_threads = 32 * tile_warps;
constexpr int tile_weights = warp_weights * tile_warps;

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
