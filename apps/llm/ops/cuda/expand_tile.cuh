// A warp's tensor core product of 16 rows of reduced numbers (factor_tile.cuh) and the second factor's rows of
// 32 outputs, over 32 columns: ranks. All are fp16. The hardware defines which lane holds which element (PTX
// ISA: mma.m16n8k16 and mma.m8n8k4). The outputs are dealt to the lanes so that each gets neighbors.
#pragma once

#include <cuda_fp16.h>

#include "llm/ops/cuda/mma.cuh"

namespace voltpile::llm {

struct ExpandTile {
    static constexpr int rows = 16, outputs = 32, ranks = 32;
    static constexpr int sums = 16;  // of a lane
    static constexpr int loads = 4;  // of 8 neighbors in a row of the factor, by a lane

    __device__ static int lane() { return static_cast<int>(threadIdx.x) % 32; }

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 750
    static constexpr int stride = ranks;  // of rows in shared memory, without bank conflicts
    // Load `i` of a lane: of the row of this output, from this rank on.
    __device__ static int load_output(int i) { return lane() / 8 * 8 + i * 2 + lane() / 4 % 2; }
    __device__ static int load_rank(int) { return lane() % 4 * 8; }
    // The sums of a lane: of some rows, and of neighbors from output() on.
    static constexpr int lane_rows = 2, lane_outputs = 8;
    __device__ static int row(int r) { return lane() / 4 + 8 * r; }
    __device__ static int output() { return lane() % 4 * 8; }
    __host__ __device__ static constexpr int index(int r, int n) { return n / 2 * 4 + r * 2 + n % 2; }
    // Adds the products. x: (16, stride) in shared memory.
    __device__ __forceinline__ static void multiply(float (&sum)[sums], const uint4 (&factor)[loads],
                                                    const __half* x) {
        const __half* const mine = x + lane() / 4 * stride + lane() % 4 * 8;
        const uint4 low = *reinterpret_cast<const uint4*>(mine),
                    high = *reinterpret_cast<const uint4*>(mine + 8 * stride);
        const std::uint32_t xs[2][4] = {{low.x, high.x, low.y, high.y}, {low.z, high.z, low.w, high.w}};
#pragma unroll
        for (int i = 0; i < loads; ++i) {
            multiply_16(&sum[4 * i], xs[0], factor[i].x, factor[i].y);
            multiply_16(&sum[4 * i], xs[1], factor[i].z, factor[i].w);
        }
    }
#else
    static constexpr int stride = ranks + 8;
    // Each quad pair (lanes 4 q to 4 q + 3 and 16 + 4 q to 16 + 4 q + 3) has 8 of the outputs.
    __device__ static int lane_of_eight() { return lane() % 4 + lane() / 16 * 4; }
    // Of the 8, the instruction's columns 4 a + 2 h + j are the outputs 4 h + 2 a + j.
    __device__ static int load_output(int) {
        const int column = lane_of_eight();
        return lane() % 16 / 4 * 8 + column / 2 % 2 * 4 + column / 4 * 2 + column % 2;
    }
    __device__ static int load_rank(int i) { return i * 8; }
    static constexpr int lane_rows = 4, lane_outputs = 4;
    __device__ static int row(int r) { return r / 2 * 8 + lane() / 16 * 4 + lane() % 2 + r % 2 * 2; }
    __device__ static int output() { return lane() % 16 / 4 * 8 + lane() % 4 / 2 * 4; }
    __host__ __device__ static constexpr int index(int r, int n) {
        return r / 2 * 8 + n / 2 * 4 + r % 2 * 2 + n % 2;
    }
    __device__ __forceinline__ static void multiply(float (&sum)[sums], const uint4 (&factor)[loads],
                                                    const __half* x) {
        float(&first)[8] = *reinterpret_cast<float(*)[8]>(&sum[0]);
        float(&second)[8] = *reinterpret_cast<float(*)[8]>(&sum[8]);
        const __half* const mine = x + lane_of_eight() * stride;
#pragma unroll
        for (int i = 0; i < loads; ++i) {
            const uint4 low = *reinterpret_cast<const uint4*>(mine + 8 * i),
                        high = *reinterpret_cast<const uint4*>(mine + 8 * stride + 8 * i);
            multiply_4(first, low.x, low.y, factor[i].x, factor[i].y);
            multiply_4(second, high.x, high.y, factor[i].x, factor[i].y);
            multiply_4(first, low.z, low.w, factor[i].z, factor[i].w);
            multiply_4(second, high.z, high.w, factor[i].z, factor[i].w);
        }
    }
#endif
};

}  // namespace voltpile::llm
