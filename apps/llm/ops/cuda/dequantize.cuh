// The kernels that read rows of weights: dequantization and embedding.
#pragma once

#include "device/launch.cuh"
#include "llm/ops/cuda/dequantize.h"
#include "llm/ops/cuda/early_launch.cuh"
#include "llm/ops/cuda/grids/table.cuh"
#include "llm/ops/cuda/row_units.cuh"

namespace voltpile::llm {

constexpr int dequantize_threads = 256;

// One thread per unit of 32 weights.
template <WeightFormat format>
__global__ void dequantize(const DeviceMatrix w, int first_row, int rows, uint4* out) {
    bring_grid<format>(w.format);
    const int units = w.columns / 32;
    const std::int64_t index = static_cast<std::int64_t>(blockIdx.x) * dequantize_threads + threadIdx.x;
    if (index >= static_cast<std::int64_t>(rows) * units) return;
    const auto raw = RowUnit<format>::load(w, first_row + static_cast<int>(index / units),
                                           static_cast<int>(index % units));
#pragma unroll
    for (int q = 0; q < 4; ++q) out[index * 4 + q] = RowUnit<format>::halves(raw, q);
}

// One block per row.
template <WeightFormat format>
__global__ void embed(const DeviceMatrix w, const std::int32_t* token, const std::int32_t* drawn,
                      const std::int32_t* sequence, float scale, int columns, float* x) {
    let_next_kernel_begin();
    bring_grid<format>(w.format);
    int row = -1;
    if (sequence[blockIdx.x] >= 0) {
        row = token[blockIdx.x];
        if (row < 0) row = drawn[-1 - row];
    }
    float* to = x + static_cast<std::int64_t>(blockIdx.x) * columns;
    for (int unit = static_cast<int>(threadIdx.x); unit < w.columns / 32; unit += dequantize_threads) {
        // Empty rows of a captured pass, and draws from unusable logits, become 0.
        const bool there = row >= 0 && row < w.rows;
        typename RowUnit<format>::Raw raw;
        if (there) raw = RowUnit<format>::load(w, row, unit);
#pragma unroll
        for (int q = 0; q < 4; ++q) {
            float value[8] = {};
            if (there) RowUnit<format>::eight(raw, q, value);
#pragma unroll
            for (int i = 0; i < 8; ++i) {
                const int column = unit * 32 + q * 8 + i;
                if (column < columns) to[column] = value[i] * scale;
            }
        }
    }
}

template <WeightFormat format>
void launch_dequantize_of(const DeviceMatrix& w, int first_row, int rows, void* out, const Stream& stream) {
    const std::int64_t units = static_cast<std::int64_t>(rows) * (w.columns / 32);
    launch("weights to fp16", dequantize<format>,
           {static_cast<int>((units + dequantize_threads - 1) / dequantize_threads), dequantize_threads},
           stream, w, first_row, rows, static_cast<uint4*>(out));
}

template <WeightFormat format>
void launch_embed_of(const DeviceMatrix& w, const BatchView& batch, float scale, int columns, float* x,
                     const Stream& stream) {
    launch("embedding", embed<format>, {batch.rows, dequantize_threads}, stream, w, batch.token, batch.drawn,
           batch.sequence, scale, columns, x);
}

}  // namespace voltpile::llm
