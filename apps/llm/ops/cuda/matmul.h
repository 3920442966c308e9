// Matrix products on the GPU. The algorithm depends on the number of rows of x:
//   up to matvec_rows         matrix-vector products, of large matrices fewer (product.h)
//   up to most_kernel_rows()  tiles on tensor cores
//   more                      cuBLAS, for which quantized weights are first dequantized to fp16 in memory
// Where weights may be rounded, products of many rows are those of integers instead (int8_tiles.h). On
// compute capability 9.0, other products of quantized weights have wide tiles from least_wide_rows on instead
// of cuBLAS. A row's result is bit-identical for any number of rows in matrix-vector products, in those of
// integers, and in tiles with the same number of workers, other than wide ones.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/stream.h"
#include "llm/model/layer_blocks.h"
#include "llm/ops/batch_view.h"
#include "llm/ops/cuda/matrix.h"
#include "llm/ops/cuda/norm_args.h"
#include "llm/ops/cuda/sent_part.h"
#include "llm/ops/half_limit.h"

namespace voltpile::llm {

struct IntegerWeights;

constexpr int matvec_rows = 4;
// Returns the number of rows above which cuBLAS is faster (measured).
constexpr int most_kernel_rows(WeightFormat format) {
    return info(gpu_layout(format)).gpu.most_kernel_rows;
}

// Up to 3 matrices with the same format and columns; matrix m writes to the columns of `out` from
// out_begin[m] on. Pointers are to GPU memory and are not owned.
struct MatmulArgs {
    DeviceMatrix matrix[3];
    int out_begin[3] = {0, 0, 0};
    int first_group[4] = {0, 0, 0, 0};  // matrix m has the groups (matrix.h) first_group[m] to [m + 1] - 1
    int matrices = 1;
    bool gated = false;  // matrix[0] is gate, matrix[1] is up; one output
    // Gated products of integers: both products instead, 8 columns of the gate, 8 of up, and so on.
    bool apart = false;
    Activation activation = Activation::Silu;  // of the gate
    int rows = 0;                              // of x and out
    const void* x = nullptr;  // fp16 (rows, columns), contiguous, 16-byte aligned; columns a multiple of 32
    void* out = nullptr;      // fp16, or fp32 if out_float
    bool out_float = false;
    // Matrix-vector products of one matrix: results, and bias (outputs) if there is one, are added to an fp32
    // out.
    bool adds = false;
    const float* bias = nullptr;
    // Matrix-vector products of one row and one matrix, not gated: fp32 results are also sent.
    SentPart sent;
    // Matrix-vector products of one row that prepares_x(): the product launched before, or the next one, has
    // the same x and runs at the same time.
    bool beside_last = false, beside_next = false;
    // Matrix-vector products compute x, with this norm, where norms_in_product() allows it, without a delta;
    // those of integers where norms_in_int8_rows() does. x is then not used.
    NormArgs norm;
    int out_columns = 0;              // row stride of out
    float limit = half_limit(false);  // applied to fp16 results
    int split = 1;                    // matrix-vector products: parts of the columns, summed in order
    int workers = 1;                  // tiled products: see tile_workers()
    std::uint8_t* scratch = nullptr;  // of at least matvec_scratch_bytes() or tile_scratch_bytes()
    int* counters = nullptr;          // most_tiles zeros; the kernels leave zeros
    const IntegerWeights* integers = nullptr;  // of all matrices, if the product may be one of integers
};

// Returns the weights of a row that a lane multiplies at once: 32, or fewer if their quants take more than 16
// bytes.
constexpr int unit_weights(WeightFormat format) {
    const int quants = info(gpu_layout(format)).gpu.unit.quants;
    return quants <= 16 ? 32 : 32 * 16 / quants;
}
// Returns the split of a matrix-vector product on this GPU. It depends only on the matrices, so that a row's
// result is the same in any batch.
int matvec_split(const MatmulArgs& args, int multiprocessors);
std::size_t matvec_scratch_bytes(const MatmulArgs& args);
// Whether the kernel itself brings x into the form that it multiplies, without scratch memory.
bool prepares_x(const MatmulArgs& args);
void launch_matvec(const MatmulArgs& args, int multiprocessors, const Stream& stream);
// Returns whether launch_matvec_pair() supports these two formats: mixtures that files have for Q, K and V.
constexpr bool multiplies_in_pairs(WeightFormat first, WeightFormat second) {
    using enum WeightFormat;
    return ((first == Q4_K || first == Q5_K) && second == Q6_K) || (first == Q3_K && second == Q5_K);
}
// Multiplies the same x by two groups of matrices in one launch, not gated. The arguments differ only in
// matrices, out_begin, first_group and split; multiplies_in_pairs() is true of their formats, and with one
// row prepares_x() of both. The first product writes norm.out.
void launch_matvec_pair(const MatmulArgs& first, const MatmulArgs& second, int multiprocessors,
                        const Stream& stream);

// The most shared memory of a matrix-vector product for its x. Fits twice in a multiprocessor with 96 KB, and
// in a kernel without an attribute.
constexpr int matvec_shared_bytes = 40 * 1024;
// Whether a matrix-vector product of so many rows takes MatmulArgs::norm.
bool norms_in_product(WeightFormat format, int rows, int columns);

constexpr int tile_rows = 64;  // rows of a block: as many as its registers can accumulate
constexpr int pieces_of(int rows) {
    return (rows + tile_rows - 1) / tile_rows;
}
// Returns the number of workers of a tiled product: each takes an equal run of its steps (tiles.cuh), for all
// pieces of the rows, and at most as many as run at once. A row's result depends on this number and on no
// other property of the batch.
int tile_workers(const MatmulArgs& args, int most_workers);
std::size_t tile_scratch_bytes(int rows, int workers);
constexpr int most_tiles = 1 << 16;  // the largest number of tiles times pieces in one launch
int tiles_of(const MatmulArgs& args);
void launch_tiles(const MatmulArgs& args, const Stream& stream);
constexpr int tile_blocks_each = 2;  // blocks of tiles on a multiprocessor

// The same with pieces of up to wide_rows rows, for quantized weights, on GPUs of compute capability 9.0 that
// have `multiprocessors`, if VOLTPILE_SM90 is 1. Faster than tiles from least_wide_rows rows on (measured).
// Does not use args.workers. scratch_bytes: of args.scratch. Blocks wait for each other, so all must run at
// once: no two wide products may run on a GPU at the same time. Throws DeviceError if one piece does not fit.
constexpr int wide_rows = 256, least_wide_rows = 65;
void launch_wide_tiles(const MatmulArgs& args, std::size_t scratch_bytes, int multiprocessors,
                       const Stream& stream);

// Dequantizes `rows` rows of w from first_row on to fp16. out: (rows, columns).
void launch_dequantize(const DeviceMatrix& w, int first_row, int rows, void* out, const Stream& stream);
// out[r, c] = activation(gate[r, c]) * up[r, c] for c < columns. gate, up: fp32, row stride gate_columns.
// out: fp16, row stride out_columns. limit: half_limit().
void launch_gate(Activation activation, const float* gate, const float* up, int gate_columns, void* out,
                 int out_columns, int rows, int columns, float limit, const Stream& stream);
// See Ops::embed. x: (rows, columns).
void launch_embed(const DeviceMatrix& w, const BatchView& batch, float scale, int columns, float* x,
                  const Stream& stream);
// Copies fp16 (rows, columns) to (rows, padded) and fills the new columns with zeros.
void launch_pad(const void* x, int rows, int columns, int padded, void* out, const Stream& stream);

}  // namespace voltpile::llm
