// Mixtures of experts on the GPU: the router, and products with the matrices of the experts that a pass uses.
// Which experts these are only the GPU knows: nothing here waits for it, so passes can be captured.
//
// Few rows multiply pair after pair (of a row and one of its experts) as matrix-vector products. More rows
// multiply in tiles on tensor cores, of the pairs of one expert each; there, a row's result does not depend
// on the other rows or their number. While experts have few rows each, a tile is a warp's (expert_rows.cuh),
// later a block's (expert_tiles.cuh).
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/stream.h"
#include "llm/ops/batch_view.h"
#include "llm/ops/cuda/adapters.h"
#include "llm/ops/cuda/matrix.h"
#include "llm/ops/cuda/norm_args.h"
#include "llm/ops/cuda/tiles.h"
#include "llm/ops/half_limit.h"
#include "llm/ops/operands.h"

namespace voltpile::llm {

// The matrices of a layer's experts: expert e's planes begin e * stride bytes after those of expert 0, or
// offset[e] if there is such a table in GPU memory.
struct ExpertMatrices {
    DeviceMatrix first;
    std::int64_t stride = 0;
    const std::int64_t* offset = nullptr;
    const float* bias = nullptr;  // (experts, rows), see ExpertWeights
};

// Ops::route. x: fp16 (rows, columns); not used if norm.x: then Ops::norm_route, without a delta and without
// adapters, if router_takes_norm(). logits: GPU memory for (rows, experts + 1) numbers. counter: a zero in
// GPU memory; the kernels leave a zero. adapters: their factors and scratch memory, without the output;
// nullptr: none.
void launch_route(const void* x, const NormArgs& norm, int rows, int columns, const RouterSettings& settings,
                  const BatchView& batch, const Routing& to, const AdapterArgs* adapters, float* logits,
                  int* counter, const Stream& stream);
bool router_takes_norm(int rows, int columns);

// What a product chooses experts by. logits: of all experts of the router (rows, experts), in GPU memory;
// nullptr: it does not choose. sequence: BatchView::sequence.
struct ExpertChoice {
    const float* logits = nullptr;
    RouterSettings settings;
    const std::int32_t* sequence = nullptr;
};
constexpr int most_chosen_in_product = 128;  // experts of the router
// Returns true if products can choose among `experts` experts: on GPUs whose kernels begin early
// (early_launch.cuh).
bool chooses_in_product(int experts);
// Writes the logits of norm.x where router_takes_norm(), without a shared expert.
void launch_router_logits(const NormArgs& norm, int rows, int columns, const RouterSettings& settings,
                          float* logits, const Stream& stream);

struct ExpertArgs {
    ExpertMatrices matrix[2];  // gate and up if gated, otherwise down
    bool gated = false;
    Activation activation = Activation::Silu;
    Routing routing;
    // Gated matrix-vector products: if there are logits, the kernel chooses the experts, of at most
    // most_chosen_in_product, and writes `routing`.
    ExpertChoice choice;
    // Gated: fp32 (pairs, 2 * rows of a matrix), added to the products with gate and then up; nullptr:
    // nothing.
    const float* added = nullptr;
    int rows = 0;             // of the batch; there are at most rows * routing.used pairs
    const void* x = nullptr;  // fp16, contiguous: gated: (rows, columns), otherwise (pairs, columns)
    // Gated: fp16 (pairs, out_columns). Otherwise fp32: matrix-vector products sum over the experts of a row
    // and write (rows, out_columns); tiles write the product of each pair, (pairs, out_columns).
    void* out = nullptr;
    int out_columns = 0;
    float limit = half_limit(false);  // applied to fp16 results
    int split = 1;                    // matrix-vector products: parts of a sum, added in order
    std::uint8_t* scratch = nullptr;  // matrix-vector products: of at least expert_matvec_scratch_bytes()
    int first_tile = 0, tiles = 0;    // tiles of every matrix to compute; out begins with those of first_tile
};

constexpr int expert_matvec_pairs = 256;  // at most
// Returns the split for these matrices, this number of rows, and this GPU.
int expert_matvec_split(const ExpertArgs& args, int multiprocessors);
std::size_t expert_matvec_scratch_bytes(const ExpertArgs& args);
void launch_expert_matvec(const ExpertArgs& args, int multiprocessors, const Stream& stream);

// The results of a tile for each pair.
constexpr int gated_tile_columns = tile_weights / 2, tile_columns = tile_weights;
void launch_expert_tiles(const ExpertArgs& args, int multiprocessors, const Stream& stream);

// out[r, c] = sum_k weight[r, k] * (products[place[r, k], c] + bias[expert[r, k] * bias_stride + c]), plus
// shared[r] * out[r, c] if routing.shared, or out[r, c] if routing.adds, for c < columns. products: (pairs,
// columns). bias: nullptr for none. out: row stride out_columns.
void launch_sum_pairs(const float* products, const float* bias, int bias_stride, const Routing& routing,
                      int rows, int columns, float* out, int out_columns, const Stream& stream);

// Each format has its own source file (formats/experts.cu.in), because compiling takes long.
template <WeightFormat format>
void launch_expert_matvec_of(const ExpertArgs& args, int blocks, const Stream& stream);
template <WeightFormat format>
void launch_expert_tiles_of(const ExpertArgs& args, int multiprocessors, const Stream& stream);

}  // namespace voltpile::llm
