#include "device/launch.cuh"
#include "llm/ops/cuda/grids/row_units.cuh"
#include "llm/ops/cuda/half.cuh"
#include "llm/ops/cuda/matmul.h"
#include "llm/ops/cuda/with_format.h"

namespace voltpile::llm {

namespace {

constexpr int threads = 256;
int blocks_for(std::int64_t items) {
    return static_cast<int>((items + threads - 1) / threads);
}

// One thread per unit of 32 weights.
template <WeightFormat format>
__global__ void dequantize(const DeviceMatrix w, int first_row, int rows, uint4* out) {
    bring_grid<format>(w.format);
    const int units = w.columns / 32;
    const std::int64_t index = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x;
    if (index >= static_cast<std::int64_t>(rows) * units) return;
    const auto raw = RowUnit<format>::load(w, first_row + static_cast<int>(index / units),
                                           static_cast<int>(index % units));
#pragma unroll
    for (int q = 0; q < 4; ++q) out[index * 4 + q] = RowUnit<format>::halves(raw, q);
}

__global__ void gated_product(Activation activation, const float* gate, const float* up, int gate_columns,
                              __half* out, int out_columns, int rows, int columns, float limit) {
    const std::int64_t index = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x;
    if (index >= static_cast<std::int64_t>(rows) * columns) return;
    const std::int64_t row = index / columns, column = index % columns;
    const std::int64_t from = row * gate_columns + column;
    out[row * out_columns + column] = limited_half(gated_value(activation, gate[from], up[from]), limit);
}

__global__ void pad(const __half* x, int rows, int columns, int padded, __half* out) {
    const std::int64_t index = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x;
    if (index >= static_cast<std::int64_t>(rows) * padded) return;
    const std::int64_t row = index / padded, column = index % padded;
    out[index] = column < columns ? x[row * columns + column] : __half(0.0f);
}

// One block per row.
template <WeightFormat format>
__global__ void embed(const DeviceMatrix w, const std::int32_t* token, const std::int32_t* drawn,
                      const std::int32_t* sequence, float scale, int columns, float* x) {
    bring_grid<format>(w.format);
    int row = -1;
    if (sequence[blockIdx.x] >= 0) {
        row = token[blockIdx.x];
        if (row < 0) row = drawn[-1 - row];
    }
    float* to = x + static_cast<std::int64_t>(blockIdx.x) * columns;
    for (int unit = static_cast<int>(threadIdx.x); unit < w.columns / 32; unit += threads) {
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

}  // namespace

void launch_dequantize(const DeviceMatrix& w, int first_row, int rows, void* out, const Stream& stream) {
    with_format(w.format, [&](auto format) {
        launch("weights to fp16", dequantize<format.value>,
               {blocks_for(static_cast<std::int64_t>(rows) * (w.columns / 32)), threads}, stream, w,
               first_row, rows, static_cast<uint4*>(out));
    });
}

void launch_gate(Activation activation, const float* gate, const float* up, int gate_columns, void* out,
                 int out_columns, int rows, int columns, float limit, const Stream& stream) {
    launch("gating", gated_product, {blocks_for(static_cast<std::int64_t>(rows) * columns), threads}, stream,
           activation, gate, up, gate_columns, static_cast<__half*>(out), out_columns, rows, columns, limit);
}

void launch_pad(const void* x, int rows, int columns, int padded, void* out, const Stream& stream) {
    launch("padding activations", pad, {blocks_for(static_cast<std::int64_t>(rows) * padded), threads},
           stream, static_cast<const __half*>(x), rows, columns, padded, static_cast<__half*>(out));
}

void launch_embed(const DeviceMatrix& w, const BatchView& batch, float scale, int columns, float* x,
                  const Stream& stream) {
    if (batch.rows == 0) return;
    with_format(w.format, [&](auto format) {
        launch("embedding", embed<format.value>, {batch.rows, threads}, stream, w, batch.token, batch.drawn,
               batch.sequence, scale, columns, x);
    });
}

}  // namespace voltpile::llm
