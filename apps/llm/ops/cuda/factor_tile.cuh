// A warp's tensor core product of up to 16 rows of x and rows of an adapter's factor, in groups of 8, both
// fp16 in global memory. The hardware defines which lane holds which element (PTX ISA: mma.m16n8k16 and
// mma.m8n8k4). The order of the columns in a chunk is free as long as both agree, so each lane loads 8
// neighbors of a row. No element of a result depends on rows of x or of the factor other than its own.
#pragma once

#include <cuda_fp16.h>

#include "llm/ops/cuda/mma.cuh"

namespace voltpile::llm {

struct FactorTile {
    // What depends on the architecture must not be an argument of a kernel's template, which the host also
    // names.
    static constexpr int rows = 16, group = 8, chunk = 32;  // rows of x, rows of the factor, columns
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 750
    static constexpr int sums = 4;         // of a lane and a group
    static constexpr int most_chunks = 2;  // that registers hold with those of several groups
#else
    static constexpr int sums = 16, most_chunks = 1;
#endif

    __device__ static int lane() {
        return static_cast<int>(threadIdx.x) % 32;
    }

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 750
    // The row of x (and 8 more), and of a group, whose columns from column() on the lane loads.
    __device__ static int row() {
        return lane() / 4;
    }
    __device__ static int column() {
        return lane() % 4 * 8;
    }
    // Adds the products of a chunk. low, high: rows 0 to 7 and 8 to 15 of x.
    __device__ __forceinline__ static void multiply(float (&sum)[sums], const uint4& low, const uint4& high,
                                                    const uint4& factor) {
        const std::uint32_t x[2][4] = {{low.x, high.x, low.y, high.y}, {low.z, high.z, low.w, high.w}};
        multiply_16(sum, x[0], factor.x, factor.y);
        multiply_16(sum, x[1], factor.z, factor.w);
    }
    // Calls store(row of x, row of the group, sum) for each element; once, after the last chunk.
    template <class Store>
    __device__ __forceinline__ static void each_sum(const float (&sum)[sums], const Store& store) {
#pragma unroll
        for (int i = 0; i < sums; ++i) store(lane() / 4 + i / 2 * 8, lane() % 4 * 2 + i % 2, sum[i]);
    }
#else
    // Each quad pair (lanes 4 q to 4 q + 3 and 16 + 4 q to 16 + 4 q + 3) has 8 of the columns.
    __device__ static int row() {
        return lane() % 4 + lane() / 16 * 4;
    }
    __device__ static int column() {
        return lane() % 16 / 4 * 8;
    }
    __device__ __forceinline__ static void multiply(float (&sum)[sums], const uint4& low, const uint4& high,
                                                    const uint4& factor) {
        float(&first)[8] = *reinterpret_cast<float(*)[8]>(&sum[0]);
        float(&second)[8] = *reinterpret_cast<float(*)[8]>(&sum[8]);
        multiply_4(first, low.x, low.y, factor.x, factor.y);
        multiply_4(second, high.x, high.y, factor.x, factor.y);
        multiply_4(first, low.z, low.w, factor.z, factor.w);
        multiply_4(second, high.z, high.w, factor.z, factor.w);
    }
    template <class Store>
    __device__ __forceinline__ static void each_sum(const float (&sum)[sums], const Store& store) {
        const int row = lane() / 16 * 4 + lane() % 2, column = lane() % 4 / 2 * 2;
#pragma unroll
        for (int i = 0; i < sums; ++i) {
            float all = sum[i];
            all += __shfl_xor_sync(0xffffffffu, all, 4);
            all += __shfl_xor_sync(0xffffffffu, all, 8);
            if (lane() % 16 < 4) store(i / 8 * 8 + row + i % 4 / 2 * 2, i % 8 / 4 * 4 + column + i % 2, all);
        }
    }
#endif
};

}  // namespace voltpile::llm
