#include "llm/ops/cuda/dequantize.h"

#include "device/launch.cuh"
#include "llm/ops/cuda/half.cuh"
#include "llm/ops/cuda/matmul.h"
#include "llm/ops/cuda/with_format.h"

namespace voltpile::llm {

namespace {

constexpr int threads = 256;
int blocks_for(std::int64_t items) {
    return static_cast<int>((items + threads - 1) / threads);
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

}  // namespace

void launch_dequantize(const DeviceMatrix& w, int first_row, int rows, void* out, const Stream& stream) {
    with_format(w.format,
                [&](auto format) { launch_dequantize_of<format.value>(w, first_row, rows, out, stream); });
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
    with_format(w.format,
                [&](auto format) { launch_embed_of<format.value>(w, batch, scale, columns, x, stream); });
}

}  // namespace voltpile::llm
