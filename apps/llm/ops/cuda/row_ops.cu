#include "llm/ops/cuda/row_ops.h"

#include <cuda_fp16.h>

#include "device/check.h"
#include "llm/ops/cuda/early_launch.cuh"

namespace voltpile::llm {

namespace {

__global__ void soft_cap(float* x, std::int64_t count, float cap) {
    begin_after_earlier_kernels();
    const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < count) x[i] = cap * tanhf(x[i] / cap);
}

// One block per output row.
template <class Word>
__global__ void gather(const Word* x, int words, const std::int32_t* rows_wanted, Word* out) {
    begin_after_earlier_kernels();
    const Word* from = x + static_cast<std::int64_t>(rows_wanted[blockIdx.x]) * words;
    Word* to = out + static_cast<std::int64_t>(blockIdx.x) * words;
    for (int i = static_cast<int>(threadIdx.x); i < words; i += static_cast<int>(blockDim.x)) to[i] = from[i];
}

// One block per row.
__global__ void store(const __half2* x, int words, const BatchView batch, __half2* to) {
    begin_after_earlier_kernels();
    const int row = static_cast<int>(blockIdx.x), sequence = batch.sequence[row];
    if (sequence < 0) return;
    const int position = batch.position[row];
    const std::int64_t page =
        batch.page_table[static_cast<std::int64_t>(sequence) * batch.max_pages + position / kv_page_tokens];
    const std::int64_t place = page * kv_page_tokens + position % kv_page_tokens;
    const __half2* from = x + static_cast<std::int64_t>(row) * words;
    for (int i = static_cast<int>(threadIdx.x); i < words; i += static_cast<int>(blockDim.x))
        to[place * words + i] = from[i];
}

// One block per output row.
__global__ void recall(const __half2* x, int words, const std::int32_t* rows_wanted, float2* out) {
    begin_after_earlier_kernels();
    const __half2* from = x + static_cast<std::int64_t>(rows_wanted[blockIdx.x]) * words;
    float2* to = out + static_cast<std::int64_t>(blockIdx.x) * words;
    for (int i = static_cast<int>(threadIdx.x); i < words; i += static_cast<int>(blockDim.x))
        to[i] = __half22float2(from[i]);
}

// Grid: (rows, columns / 256, rounded up).
__global__ void gather_in_order(const __half* x, int x_columns, const std::int32_t* order, __half* out,
                                int columns) {
    begin_after_earlier_kernels();
    const auto row = static_cast<std::int64_t>(blockIdx.x);
    const int j = static_cast<int>(blockIdx.y * blockDim.x + threadIdx.x);
    if (j < columns) out[row * columns + j] = x[row * x_columns + order[j]];
}

// Rows of row_bytes bytes.
void launch_gather(const void* x, int row_bytes, const std::int32_t* rows_wanted, int wanted, void* out,
                   const Stream& stream) {
    if (wanted == 0) return;
    if (row_bytes % 16 == 0) {
        launch_early("gathering rows", gather<uint4>, {wanted, 256}, stream, static_cast<const uint4*>(x),
                     row_bytes / 16, rows_wanted, static_cast<uint4*>(out));
    } else {
        launch_early("gathering rows", gather<std::uint16_t>, {wanted, 256}, stream,
                     static_cast<const std::uint16_t*>(x), row_bytes / 2, rows_wanted,
                     static_cast<std::uint16_t*>(out));
    }
}

}  // namespace

void CudaRowOps::soft_cap(FloatRows x, float cap) {
    const std::int64_t count = x.rows * x.columns;
    if (count == 0) return;
    launch_early("soft cap", llm::soft_cap, {static_cast<int>((count + 255) / 256), 256}, stream(), x.data,
                 count, cap);
}

void CudaRowOps::gather_rows(HiddenRows x, const BatchView& batch, HiddenRows out) {
    launch_gather(x.data, static_cast<int>(x.columns) * 2, batch.logit_row, batch.logits, out.data, stream());
}

void CudaRowOps::gather_float_rows(FloatRows x, const BatchView& batch, FloatRows out) {
    launch_gather(x.data, static_cast<int>(x.columns) * 4, batch.logit_row, batch.logits, out.data, stream());
}

void CudaRowOps::store_rows(HiddenRows x, const BatchView& batch, HiddenRows to) {
    if (batch.rows == 0) return;
    launch_early("storing rows", store, {batch.rows, 256}, stream(), static_cast<const __half2*>(x.data),
                 static_cast<int>(x.columns) / 2, batch, static_cast<__half2*>(to.data));
}

void CudaRowOps::recall_rows(HiddenRows from, const BatchView& batch, FloatRows out) {
    if (batch.rows == 0) return;
    launch_early("recalling rows", recall, {batch.rows, 256}, stream(),
                 static_cast<const __half2*>(from.data), static_cast<int>(out.columns) / 2, batch.hidden_row,
                 reinterpret_cast<float2*>(out.data));
}

void CudaRowOps::gather_columns(HiddenRows x, const std::int32_t* order, HiddenRows out) {
    if (x.rows == 0) return;
    const auto columns = static_cast<int>(out.columns);
    launch_early("gathering columns", gather_in_order,
                 {static_cast<int>(x.rows), 256, 0, (columns + 255) / 256}, stream(),
                 static_cast<const __half*>(x.data), static_cast<int>(x.columns), order,
                 static_cast<__half*>(out.data), columns);
}

void CudaRowOps::join_columns(FloatRows parts, std::span<const std::int64_t> column_begin, FloatRows out) {
    for (std::size_t k = 0; k + 1 < column_begin.size() && out.rows > 0; ++k) {
        const std::size_t width =
            static_cast<std::size_t>(column_begin[k + 1] - column_begin[k]) * sizeof(float);
        if (width == 0) continue;
        const float* from = parts.data + static_cast<std::int64_t>(k) * out.rows * parts.columns;
        cuda_check(
            cudaMemcpy2DAsync(out.data + column_begin[k],
                              static_cast<std::size_t>(out.columns) * sizeof(float), from, width, width,
                              static_cast<std::size_t>(out.rows), cudaMemcpyDeviceToDevice, stream().get()),
            "joining columns");
    }
}

}  // namespace voltpile::llm
