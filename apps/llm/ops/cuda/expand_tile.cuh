// A warp's tensor core product of 16 rows of numbers between the factors (adapters.h) and the second factor's
// rows of 32 outputs, all in global memory. The hardware defines which lane holds which element (PTX ISA:
// mma.m16n8k16 and mma.m8n8k4). The outputs are dealt to the lanes so that each gets neighbors.
#pragma once

#include <cuda_fp16.h>

#include "llm/ops/cuda/mma.cuh"

namespace voltpile::llm {

struct ExpandTile {
    static constexpr int rows = 16, outputs = 32;
    static constexpr int sums = 16;  // of a lane

    __device__ static int lane() { return static_cast<int>(threadIdx.x) % 32; }

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 750
    static constexpr int ranks = 16;       // of one step, 4 of them by a lane
    static constexpr int loaded_rows = 2;  // of which a lane loads numbers, and outputs whose factor it loads
    static constexpr int loads = 4;
    __device__ static int loaded_row(int r) {
        return lane() / 4 + 8 * r;
    }
    __device__ static int loaded_output(int i) {
        return lane() / 8 * 8 + i * 2 + lane() / 4 % 2;
    }
    __device__ static int loaded_rank() {
        return lane() % 4 * 4;
    }
    // The sums of a lane: of some rows, and of neighbors from output() on.
    static constexpr int lane_rows = 2, lane_outputs = 8;
    __device__ static int row(int r) {
        return lane() / 4 + 8 * r;
    }
    __device__ static int output() {
        return lane() % 4 * 8;
    }
    __host__ __device__ static constexpr int index(int r, int n) {
        return n / 2 * 4 + r * 2 + n % 2;
    }
    // Adds the products of a step. x: high and low numbers of the loaded rows.
    __device__ __forceinline__ static void multiply(float (&sum)[sums], const uint4 (&x)[loaded_rows],
                                                    const uint2 (&factor)[loads]) {
        const std::uint32_t high[4] = {x[0].x, x[1].x, x[0].y, x[1].y};
        const std::uint32_t low[4] = {x[0].z, x[1].z, x[0].w, x[1].w};
#pragma unroll
        for (int i = 0; i < loads; ++i) {
            multiply_16(&sum[4 * i], high, factor[i].x, factor[i].y);
            multiply_16(&sum[4 * i], low, factor[i].x, factor[i].y);
        }
    }
#else
    // Each quad pair (lanes 4 q to 4 q + 3 and 16 + 4 q to 16 + 4 q + 3) has 8 of the outputs.
    static constexpr int ranks = 4, loaded_rows = 2, loads = 1;
    __device__ static int lane_of_eight() {
        return lane() % 4 + lane() / 16 * 4;
    }
    __device__ static int loaded_row(int r) {
        return lane_of_eight() + 8 * r;
    }
    // Of the 8, the instruction's columns 4 a + 2 h + j are the outputs 4 h + 2 a + j.
    __device__ static int loaded_output(int) {
        const int column = lane_of_eight();
        return lane() % 16 / 4 * 8 + column / 2 % 2 * 4 + column / 4 * 2 + column % 2;
    }
    __device__ static int loaded_rank() {
        return 0;
    }
    static constexpr int lane_rows = 4, lane_outputs = 4;
    __device__ static int row(int r) {
        return r / 2 * 8 + lane() / 16 * 4 + lane() % 2 + r % 2 * 2;
    }
    __device__ static int output() {
        return lane() % 16 / 4 * 8 + lane() % 4 / 2 * 4;
    }
    __host__ __device__ static constexpr int index(int r, int n) {
        return r / 2 * 8 + n / 2 * 4 + r % 2 * 2 + n % 2;
    }
    __device__ __forceinline__ static void multiply(float (&sum)[sums], const uint4 (&x)[loaded_rows],
                                                    const uint2 (&factor)[loads]) {
        float(&first)[8] = *reinterpret_cast<float(*)[8]>(&sum[0]);
        float(&second)[8] = *reinterpret_cast<float(*)[8]>(&sum[8]);
        multiply_4(first, x[0].x, x[0].y, factor[0].x, factor[0].y);
        multiply_4(second, x[1].x, x[1].y, factor[0].x, factor[0].y);
        multiply_4(first, x[0].z, x[0].w, factor[0].x, factor[0].y);
        multiply_4(second, x[1].z, x[1].w, factor[0].x, factor[0].y);
    }
#endif
};

}  // namespace voltpile::llm
