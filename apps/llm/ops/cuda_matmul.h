// Matrix products on the GPU, by number of rows: up to matvec_rows a matrix-vector product, up to tile_rows
// tiles on tensor cores, above that wide tiles, or fp16 weights in memory and cuBLAS, which takes fp16
// weights as they are, and therefore earlier. Tiles of all sizes give a row the same bits, and so do
// matrix-vector products.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/stream.h"
#include "llm/ops/batch.h"
#include "llm/ops/cuda_matrix.h"
#include "llm/ops/half_limit.h"

namespace voltpile::llm {

constexpr int matvec_rows = 6;
constexpr int tile_rows = 64;
// Above so many rows cuBLAS is faster.
constexpr int most_kernel_rows(WeightFormat format) {
    return format == WeightFormat::F16 ? 4 : 128;
}

// Matrices of one format and as many columns, whose outputs go to columns of `out`.
struct MatmulArgs {
    DeviceMatrix matrix[3];
    int out_begin[3] = {0, 0, 0};  // column of out
    int first_group[4] = {0, 0, 0, 0};
    int matrices = 1;
    bool gated = false;       // matrix[0] gate, matrix[1] up, one output
    int rows = 0;             // of x and out
    const void* x = nullptr;  // fp16 (rows, columns): gapless, columns a multiple of 32, on 16 bytes
    void* out = nullptr;      // fp16, or fp32 if out_float
    bool out_float = false;
    int out_columns = 0;
    float limit = half_limit(false);  // of fp16 results
    int split = 1;                    // parts of the columns, summed in order
    std::uint8_t* scratch = nullptr;  // see the launchers
    int* counters = nullptr;          // zero, and zero again afterwards
};

// Fills split for this GPU. It depends on the matrices alone, so that a row's result is the same in any
// batch.
int matvec_split(const MatmulArgs& args, int multiprocessors);
int tile_split(const MatmulArgs& args, int multiprocessors);
std::size_t matvec_scratch_bytes(const MatmulArgs& args);
std::size_t tile_scratch_bytes(const MatmulArgs& args);
constexpr int tile_weights = 128;  // rows of weights in a tile
constexpr int most_tiles = 1 << 16;

void launch_matvec(const MatmulArgs& args, int multiprocessors, const Stream& stream);
void launch_tiles(const MatmulArgs& args, const Stream& stream);  // split: tile_split()

// Any number of rows; split: tile_split(). In so many groups of its parts the blocks work; those of more than
// one want scratch memory.
int wide_groups(const MatmulArgs& args, int multiprocessors);
std::size_t wide_scratch_bytes(const MatmulArgs& args, int groups);
void launch_wide_tiles(const MatmulArgs& args, int groups, const Stream& stream);

// Rows first_row .. + rows of w as fp16 (rows, columns).
void launch_dequantise(const DeviceMatrix& w, int first_row, int rows, void* out, const Stream& stream);
// out[r, c] = silu(gate[r, c]) * up[r, c], c < columns; gate and up: fp32 with gate_columns from row to row;
// out: fp16. limit: half_limit().
void launch_silu(const float* gate, const float* up, int gate_columns, void* out, int out_columns, int rows,
                 int columns, float limit, const Stream& stream);
// See Ops::embed. x: (rows, columns).
void launch_embed(const DeviceMatrix& w, const BatchView& batch, int columns, float* x, const Stream& stream);
// fp16 (rows, columns) to (rows, padded), zeros behind.
void launch_pad(const void* x, int rows, int columns, int padded, void* out, const Stream& stream);

}  // namespace voltpile::llm
