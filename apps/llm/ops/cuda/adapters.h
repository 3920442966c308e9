// Products with the factors of low-rank adapters on the GPU. Which rows have which adapter only the GPU
// knows, so passes can be captured.
//
// Blocks take tiles of rows, and read the factors of an adapter once for all rows of the tile that have it.
// Sums are in fp32, in an order that depends neither on the other rows nor on their number.
#pragma once

#include <cstdint>

#include "device/stream.h"
#include "llm/model/layer_blocks.h"

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

// Ops::gate. x: fp16 (rows, 2 * columns). out: fp16 (rows, columns). limit: half_limit().
void launch_gate_halves(const void* x, Activation activation, int rows, int columns, float limit, void* out,
                        const Stream& stream);

}  // namespace voltpile::llm
