// Products with the factors of low-rank adapters on the GPU. Which rows have which adapter only the GPU
// knows, so passes can be captured.
//
// Both products are of tensor cores. Rows come in the order of their adapters, so that the rows of a block
// usually have the same, whose factors it reads once. Sums are in fp32, in an order that depends neither on
// the other rows nor on their number.
#pragma once

#include <cstdint>

#include "device/stream.h"
#include "llm/model/layer_blocks.h"
#include "llm/ops/half_limit.h"
#include "llm/ops/operands.h"

namespace voltpile::llm {

constexpr int adapter_matrices = 4;  // at most, of one input

// The factors of one adapter in GPU memory, fp16. The rank is padded with zeros to a multiple of 8.
struct AdapterEntry {
    const void* a = nullptr;  // (matrices, rank, columns)
    const void* b = nullptr;  // (rows of all matrices, rank)
    int rank = 0;             // 0: the adapter leaves these matrices as they are
};

// A number between the products is reduced_scale * (high + low), both fp16: up to 5e5, in steps of 5e-7 or
// 2^-21 of itself. Four of a row are neighbors: 4 high, then 4 low.
constexpr float reduced_scale = 8;
constexpr int reduced_group = 4;

struct AdapterArgs {
    const AdapterEntry* adapters = nullptr;    // in GPU memory
    const std::int32_t* adapter_of = nullptr;  // BatchView::adapter
    const std::int32_t* order = nullptr;       // BatchView::adapter_order
    const void* x = nullptr;                   // fp16 (rows of the batch, columns)
    int rows = 0;                              // of the batch
    int columns = 0;
    int matrices = 0;
    int row_begin[adapter_matrices + 1] = {};  // outputs of each matrix
    int most_rank = 0;                         // of all adapters
    float limit = half_limit(false);           // applied to what becomes fp16 between the factors
    void* reduced = nullptr;  // scratch: (rows, matrices * most_rank) numbers as above, 16-byte aligned
    void* out = nullptr;      // of the batch; row stride out_columns
    int out_columns = 0;
};
// Returns the bytes of AdapterArgs::reduced for so many rows.
constexpr std::size_t reduced_bytes(const AdapterArgs& args, std::int64_t rows) {
    return static_cast<std::size_t>(rows * args.matrices * args.most_rank) * 2 * sizeof(std::uint16_t);
}

// Ops::add_adapters. out: fp16, or fp32 if float_out. rows must be positive.
void launch_add_adapters(const AdapterArgs& args, bool float_out, const Stream& stream);

// The products of gate and up, to which those of the factors are added before they are gated.
struct GateArgs {
    const void* products = nullptr;  // fp16 (rows of the batch, 2 * columns)
    bool woven = false;              // 8 columns of the gate, 8 of up, and so on, instead of all of one first
    int columns = 0;                 // of the result
    Activation activation = Activation::Silu;
    float limit = 0;  // half_limit()
};
// The second half of Ops::adapted_gated_matmul. out: fp16. rows must be positive.
void launch_adapted_gate(const AdapterArgs& args, const GateArgs& gate, const Stream& stream);

// Factors for experts, of which AdapterEntry adapter * routing.experts + e is for expert e.
struct ExpertAdapterArgs {
    // rows: sorted pairs to compute, which `reduced` has. order, out and out_columns are not used.
    AdapterArgs factors;
    Routing routing;
    int first_pair = 0;       // to compute
    bool x_of_pairs = false;  // x has a row for each sorted pair, instead of each row of the batch
};

// What both operations on experts do for some pairs: sets columns out_begin to out_begin + out_columns - 1 of
// the outputs of all matrices, 0 for pairs without factors. out: (all pairs, out_columns). rows must be
// positive.
void launch_expand_pairs(const ExpertAdapterArgs& args, float* out, int out_begin, int out_columns,
                         const Stream& stream);

}  // namespace voltpile::llm
