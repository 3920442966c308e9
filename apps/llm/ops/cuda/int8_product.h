// The kernels of products of integers on tensor cores, and what they are launched with.
#pragma once

#include "llm/ops/cuda/int8_shape.h"

namespace voltpile::llm {

// That of warpgroups (sm90/int8_product.cuh) is for compute capability 9.0, that of warps (int8_warps.cu) for
// others of which has_integer_tensor_cores() (gpu_memory.h).
enum class Int8Kernel { None, Warps, Warpgroups };

// From so many rows of x on, products of integers are faster than others: with a copy of the weights as
// integers; with one of at least least_weights_of_bytes weights that have as many bytes themselves; and
// without, where weights are rounded anew for each product.
struct LeastInt8Rows {
    int copied, of_bytes, rounded;
};
constexpr std::int64_t least_weights_of_bytes = std::int64_t{1} << 24;

struct Int8Device {
    Int8Kernel kernel = Int8Kernel::None;
    int multiprocessors = 0;
    int piece_rows = 0;  // of x, of the largest piece: a block's shared memory has room for its stages
    LeastInt8Rows least{};
};
// Returns what the current GPU has. Throws DeviceError.
Int8Device int8_device(int compute_capability, int multiprocessors);

struct Int8Args {
    // Of tiles of int8_tile_weights rows of weights. Pieces are counted twice, once for each half of a tile;
    // `begin` and first_tile count halves.
    TileArgs tiles;
    Int8Rows weights, x;  // those of the launch
    int steps;            // of all tiles that exist; tiles.tiles may be more, so that workers divide them
    bool lasting;         // no kernel writes the weights
};

// piece_rows: of warps 32, 64 or 128; of warpgroups any multiple of 32 up to 256. Blocks wait for each other:
// all must run at once, one on a multiprocessor.
void launch_int8_by_warps(const Int8Args& args, int piece_rows, const Stream& stream);
// Only if VOLTPILE_SM90 is 1.
void launch_int8_by_warpgroups(const Int8Args& args, int piece_rows, const Stream& stream);

}  // namespace voltpile::llm
