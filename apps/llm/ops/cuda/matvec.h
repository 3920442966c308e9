// The launchers of matrix-vector products (matvec.cuh).
#pragma once

#include "llm/ops/cuda/early_launch.cuh"
#include "llm/ops/cuda/grids/table.cuh"
#include "llm/ops/cuda/matmul.h"
#include "llm/ops/cuda/quantize.cuh"
#include "llm/ops/cuda/warp_split.h"

namespace voltpile::llm {

constexpr int matvec_threads = 32 * matvec_warps;

// Whether products take x in fp16; otherwise they take it as fixed point.
template <WeightFormat format>
constexpr bool x_is_halves = takes_halves(format);

// Writes x, with args.norm if there is one, as fixed point (quantize.cuh) to args.scratch: padded_rows rows.
void launch_quantize(const MatmulArgs& args, int padded_rows, const Stream& stream);

// Shared memory in which a kernel prepares a row of x: as the products take it, behind which are the normed
// numbers of a row that becomes fixed point.
template <WeightFormat format>
std::int64_t prepared_bytes(const MatmulArgs& args) {
    const int columns = args.matrix[0].columns;
    const std::int64_t halves = std::int64_t{2} * columns;
    if (x_is_halves<format>) return halves;
    return quantized_row_bytes(columns) + (args.norm.x != nullptr ? halves : 0);
}
// prepares_x() of one row. On GPUs whose kernels begin early, the normed numbers may take more shared memory.
template <WeightFormat format>
bool prepares_row(const MatmulArgs& args) {
    constexpr std::int64_t room = matvec_shared_bytes - grid_bytes<format>;
    const std::int64_t bytes = prepared_bytes<format>(args);
    if (x_is_halves<format>) return bytes <= room && args.norm.x != nullptr;
    return bytes <= (device_launches_early() ? 2 * room : room) &&
           quantized_row_bytes(args.matrix[0].columns) <= room;
}

// Returns the number of blocks of a product that has the GPU to itself. args.split must be set.
int matvec_blocks(const MatmulArgs& args, int multiprocessors);
// Each format has its own source file (formats/product.cu.in), because compiling takes long.
template <WeightFormat format>
void launch_matvec_of(const MatmulArgs& args, int blocks, const Stream& stream);

}  // namespace voltpile::llm
