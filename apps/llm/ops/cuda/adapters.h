// Products with the factors of low-rank adapters on the GPU. Which rows have which adapter only the GPU
// knows, so passes can be captured.
//
// Blocks take tiles of rows, and read the factors of an adapter once for all rows of the tile that have it.
// Sums are in fp32, in an order that depends neither on the other rows nor on their number.
#pragma once

#include <cstdint>

#include "device/stream.h"
#include "llm/model/layer_blocks.h"
#include "llm/ops/operands.h"

namespace voltpile::llm {

constexpr int adapter_matrices = 4;  // at most, of one input

// The factors of one adapter in GPU memory, fp16. The rank is padded with zeros to a multiple of 8.
struct AdapterEntry {
    const void* a = nullptr;  // (matrices, rank, columns)
    const void* b = nullptr;  // (rank, rows of all matrices)
    int rank = 0;             // 0: the adapter leaves these matrices as they are
};

struct AdapterArgs {
    const AdapterEntry* adapters = nullptr;    // in GPU memory
    const std::int32_t* adapter_of = nullptr;  // (rows), in GPU memory; -1: none
    const void* x = nullptr;                   // fp16 (rows, columns)
    int rows = 0;
    int columns = 0;
    int matrices = 0;
    int row_begin[adapter_matrices + 1] = {};  // outputs of each matrix
    int most_rank = 0;                         // of all adapters
    float* reduced = nullptr;                  // scratch: (rows, matrices * most_rank)
    void* out = nullptr;                       // fp16, or fp32 if float_out; row stride out_columns
    bool float_out = false;
    int out_columns = 0;
};

// Ops::add_adapters. rows must be positive.
void launch_add_adapters(const AdapterArgs& args, const Stream& stream);

// Factors for experts, of which AdapterEntry adapter * routing.experts + e is for expert e. Blocks take a
// pair of a row and one of its experts.
struct ExpertAdapterArgs {
    AdapterArgs factors;  // reduced: (rows * used, matrices * most_rank); out: fp32
    Routing routing;      // expert, place and weight begin with the first of factors.rows
};

// Ops::adapt_experts. x: of the first of factors.rows; out: of the first sorted pair. rows must be positive.
void launch_adapt_experts(const ExpertAdapterArgs& args, const Stream& stream);
// Ops::add_expert_adapters. x: of the first sorted pair; out: of the first of factors.rows.
void launch_add_expert_adapters(const ExpertAdapterArgs& args, const Stream& stream);

// Ops::gate. x: fp16 (rows, 2 * columns). out: fp16 (rows, columns). limit: half_limit().
void launch_gate_halves(const void* x, Activation activation, int rows, int columns, float limit, void* out,
                        const Stream& stream);

}  // namespace voltpile::llm
