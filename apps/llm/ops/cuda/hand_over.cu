#include "llm/ops/cuda/hand_over.h"

#include <algorithm>

#include "llm/ops/cuda/early_launch.cuh"

namespace voltpile::llm {

namespace {

constexpr int threads_of_block = 256;
constexpr std::int64_t most_blocks = 256;  // enough to keep the bus to the host busy

int blocks_for(std::int64_t items) {
    return static_cast<int>(
        std::clamp<std::int64_t>((items + threads_of_block - 1) / threads_of_block, 1, most_blocks));
}

// x: `words` pairs of fp16 numbers.
__global__ void hand_over(const std::uint32_t* x, std::int64_t words, const Routing routing,
                          std::int64_t rows, const std::int32_t* adapter, const HandedRows to) {
    const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
    const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    auto* const to_x = reinterpret_cast<std::uint32_t*>(to.x);
    for (std::int64_t i = first; i < words; i += step) to_x[i] = x[i];
    for (std::int64_t i = first; i < rows * routing.used; i += step) {
        to.expert[i] = routing.expert[i];
        to.weight[i] = routing.weight[i];
    }
    for (std::int64_t i = first; i < rows && adapter != nullptr; i += step) to.adapter[i] = adapter[i];
}

__global__ void take_sum(const float* sum, const float* shared, std::int64_t rows, std::int64_t columns,
                         float* out) {
    const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
    std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    for (; i < rows * columns; i += step)
        out[i] = shared != nullptr ? fmaf(shared[i / columns], out[i], sum[i]) : sum[i];
}

__global__ void copy_to_host(const std::uint32_t* from, std::size_t words, std::uint32_t* to) {
    begin_after_earlier_kernels();
    const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
    std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    for (; i < words; i += step) to[i] = from[i];
}

}  // namespace

void launch_hand_over(const void* x, std::int64_t rows, std::int64_t columns, const Routing& routing,
                      const std::int32_t* adapter, const HandedRows& to, const Stream& stream) {
    const std::int64_t words = rows * columns / 2;
    launch("handing rows to the host", hand_over, {blocks_for(words), threads_of_block}, stream,
           static_cast<const std::uint32_t*>(x), words, routing, rows, adapter, to);
}

void launch_take_sum(const float* sum, const float* shared, std::int64_t rows, std::int64_t columns,
                     float* out, const Stream& stream) {
    launch("taking sums from the host", take_sum, {blocks_for(rows * columns), threads_of_block}, stream, sum,
           shared, rows, columns, out);
}

void launch_copy_to_host(void* to, const void* from, std::size_t bytes, const Stream& stream) {
    const std::size_t words = bytes / sizeof(std::uint32_t);
    launch_early("copying to the host", copy_to_host,
                 {blocks_for(static_cast<std::int64_t>(words)), threads_of_block}, stream,
                 static_cast<const std::uint32_t*>(from), words, static_cast<std::uint32_t*>(to));
}

}  // namespace voltpile::llm
