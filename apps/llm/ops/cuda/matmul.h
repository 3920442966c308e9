// Matrix products on the GPU, by number of rows: up to matvec_rows a matrix-vector product, above that tiles
// on tensor cores, and for many rows fp16 weights in memory and cuBLAS, which takes fp16 weights as they are,
// and therefore earlier. A row's bits are the same in tiles of any number of rows with as many workers, and
// so are those of matrix-vector products.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/stream.h"
#include "llm/ops/batch.h"
#include "llm/ops/cuda/matrix.h"
#include "llm/ops/half_limit.h"

namespace voltpile::llm {

constexpr int matvec_rows = 4;
// Above so many rows cuBLAS is faster: formats that are simpler to turn into fp16 gain less by it.
constexpr int most_kernel_rows(WeightFormat format) {
    switch (format) {
        case WeightFormat::Q8_0:
        case WeightFormat::Q4_0:
            return 320;
        case WeightFormat::Q4_K:
        case WeightFormat::Q5_K:
        case WeightFormat::Q6_K:
            return 192;
        case WeightFormat::F32:
        case WeightFormat::F16:
        case WeightFormat::BF16:
            break;
    }
    return 4;
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
    int split = 1;                    // of a matrix-vector product: parts of the columns, summed in order
    int workers = 1;                  // of a tiled product
    std::uint8_t* scratch = nullptr;  // see the launchers
    int* counters = nullptr;          // zero, and zero again afterwards
};

// What a matrix-vector product's split is on this GPU. It depends on the matrices alone, so that a row's
// result is the same in any batch.
int matvec_split(const MatmulArgs& args, int multiprocessors);
std::size_t matvec_scratch_bytes(const MatmulArgs& args);
void launch_matvec(const MatmulArgs& args, int multiprocessors, const Stream& stream);

// How many share a tiled product, each all pieces of the rows. A row's bits depend on that, and on nothing
// else of the batch.
constexpr int tile_rows = 64;  // of a block: as registers have room for their sums
constexpr int pieces_of(int rows) {
    return (rows + tile_rows - 1) / tile_rows;
}
int tile_workers(const MatmulArgs& args, int pieces, int multiprocessors);
std::size_t tile_scratch_bytes(int rows, int workers);
constexpr int most_tiles = 1 << 16;  // times pieces
int tiles_of(const MatmulArgs& args);
void launch_tiles(const MatmulArgs& args, const Stream& stream);

// Rows first_row .. + rows of w as fp16 (rows, columns).
void launch_dequantize(const DeviceMatrix& w, int first_row, int rows, void* out, const Stream& stream);
// out[r, c] = silu(gate[r, c]) * up[r, c], c < columns; gate and up: fp32 with gate_columns from row to row;
// out: fp16. limit: half_limit().
void launch_silu(const float* gate, const float* up, int gate_columns, void* out, int out_columns, int rows,
                 int columns, float limit, const Stream& stream);
// See Ops::embed. x: (rows, columns).
void launch_embed(const DeviceMatrix& w, const BatchView& batch, int columns, float* x, const Stream& stream);
// fp16 (rows, columns) to (rows, padded), zeros behind.
void launch_pad(const void* x, int rows, int columns, int padded, void* out, const Stream& stream);

}  // namespace voltpile::llm
