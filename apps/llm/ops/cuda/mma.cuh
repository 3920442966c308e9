// A warp's tensor core product: 32 rows of weights times rows of x in shared memory, in steps of 128 columns.
// Weights are loaded from global memory directly into the registers that need them. The hardware defines
// which lane holds which element of a fragment (PTX ISA: mma.m16n8k16 and mma.m8n8k4). The order of the
// columns within a step is free as long as weights and x agree, so each lane holds whole units of 32 weights.
#pragma once

#include <cuda_fp16.h>

#include <cstdint>

#include "llm/ops/cuda/row_units.cuh"
#include "llm/ops/cuda/tiles.h"

namespace voltpile::llm {

constexpr int lane_units = 4;  // units of 32 weights that a lane holds in a step
constexpr int x_group = 8;     // rows of x in one instruction

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 750

// d += w x for 16 rows of weights, 8 rows of x and 16 columns.
__device__ __forceinline__ void multiply_16(float* d, const std::uint32_t (&w)[4], std::uint32_t x0,
                                            std::uint32_t x1) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
    asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(w[0]), "r"(w[1]), "r"(x0));
    asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(w[2]), "r"(w[3]), "r"(x1));
#else
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]), "r"(x0), "r"(x1));
#endif
}

// Lane 4 g + t holds unit t of the weight rows g, g + 8, g + 16 and g + 24, and row g of each group of x.
struct WarpProduct {
    static constexpr int shared_stride = step_columns + 16;  // row stride of x, in halves

    __device__ static int lane() { return static_cast<int>(threadIdx.x) % 32; }
    __device__ static int row(int i) { return lane() / 4 + 8 * i; }
    __device__ static int unit(int) { return lane() % 4; }
    __device__ static int x_row() { return lane() / 4; }
    static constexpr bool one_unit_of_x = true;  // of a lane, the same for all i
    // Returns the place of 16-byte piece `piece` in a row of x; the permutation avoids bank conflicts.
    __device__ static int place(int piece) { return piece ^ piece >> 3; }

    // sum[n]: rows 8 n to 8 n + 7 of x. x(n, i, piece) returns 8 columns of row x_row() of these: piece
    // `piece` of the columns of unit(i). units: lane_units, or half of them with the rows 0 to 15 alone.
    template <WeightFormat format, int groups, int units, class X>
    __device__ __forceinline__ static void multiply_by(const typename RowUnit<format>::Raw (&raw)[units],
                                                       const X& x, float (&sum)[groups][2 * units]) {
        constexpr int together = groups % 4 == 0 ? 4 : groups % 2 == 0 ? 2 : 1;
        static_assert(groups % together == 0);
#pragma unroll
        for (int piece = 0; piece < 4; ++piece) {
            uint4 w[units];
#pragma unroll
            for (int i = 0; i < units; ++i) w[i] = RowUnit<format>::halves(raw[i], piece);
#pragma unroll
            for (int first = 0; first < groups; first += together) {
                uint4 v[together];
#pragma unroll
                for (int n = 0; n < together; ++n) v[n] = x(first + n, 0, piece);
#pragma unroll
                for (int half = 0; half < 2; ++half) {
#pragma unroll
                    for (int n = 0; n < together; ++n) {
#pragma unroll
                        for (int m = 0; m < units / 2; ++m) {
                            const uint4 &upper = w[2 * m], &lower = w[2 * m + 1];
                            const std::uint32_t four[4] = {word(upper, 2 * half), word(lower, 2 * half),
                                                           word(upper, 2 * half + 1),
                                                           word(lower, 2 * half + 1)};
                            multiply_16(&sum[first + n][4 * m], four, word(v[n], 2 * half),
                                        word(v[n], 2 * half + 1));
                        }
                    }
                }
            }
        }
    }

    // Calls result(weight row, row of x in its group, sum, 0) for each element. paired: the second half of
    // the weight rows belongs to the first; calls result(row, row of x, sum of the first, sum of the second).
    template <bool paired, int sums, class Result>
    __device__ __forceinline__ static void each_result(const float (&sum)[sums], const Result& result) {
#pragma unroll
        for (int i = 0; i < (paired ? sums / 2 : sums); ++i)
            result(i / 4 * 16 + i % 4 / 2 * 8 + lane() / 4, lane() % 4 * 2 + i % 2, sum[i],
                   paired ? sum[(i + sums / 2) % sums] : 0.0f);
    }
};

#else

__device__ __forceinline__ void multiply_4(float (&d)[8], std::uint32_t w0, std::uint32_t w1,
                                           std::uint32_t x0, std::uint32_t x1) {
    asm("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%0,%1,%2,%3,%4,%5,%6,%7}, {%8,%9}, {%10,%11}, "
        "{%0,%1,%2,%3,%4,%5,%6,%7};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
        : "r"(w0), "r"(w1), "r"(x0), "r"(x1));
}

// Each quad pair (lanes 4 q to 4 q + 3 and 16 + 4 q to 16 + 4 q + 3) has 8 rows of weights, one per lane. All
// quad pairs multiply by the same 8 rows of x.
struct WarpProduct {
    static constexpr int shared_stride = step_columns + 8;

    __device__ static int lane() { return static_cast<int>(threadIdx.x) % 32; }
    __device__ static int row_of_eight() { return lane() % 4 + lane() / 16 * 4; }
    __device__ static int row(int) { return lane() % 16 / 4 * 8 + row_of_eight(); }
    __device__ static int unit(int i) { return i; }
    __device__ static int x_row() { return row_of_eight(); }
    static constexpr bool one_unit_of_x = false;
    __device__ static int place(int piece) { return piece; }

    template <WeightFormat format, int groups, class X>
    __device__ __forceinline__ static void multiply_by(const typename RowUnit<format>::Raw (&raw)[lane_units],
                                                       const X& x, float (&sum)[groups][8]) {
        constexpr int together = groups >= 6 || groups == 1 ? 1 : 2;
        static_assert(groups % together == 0);
#pragma unroll
        for (int i = 0; i < lane_units; ++i) {
#pragma unroll
            for (int piece = 0; piece < 4; ++piece) {
                const uint4 w = RowUnit<format>::halves(raw[i], piece);
#pragma unroll
                for (int first = 0; first < groups; first += together) {
                    uint4 v[together];
#pragma unroll
                    for (int n = 0; n < together; ++n) v[n] = x(first + n, i, piece);
#pragma unroll
                    for (int n = 0; n < together; ++n) multiply_4(sum[first + n], w.x, w.y, v[n].x, v[n].y);
#pragma unroll
                    for (int n = 0; n < together; ++n) multiply_4(sum[first + n], w.z, w.w, v[n].z, v[n].w);
                }
            }
        }
    }

    // lane(), opaque to the compiler, so that neither it nor values derived from it occupy registers earlier.
    __device__ __forceinline__ static int lane_read_here() {
        int lane;
        asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
        return lane;
    }

    template <bool paired, class Result>
    __device__ __forceinline__ static void each_result(const float (&sum)[8], const Result& result) {
        const int lane = lane_read_here();
        const int first = lane % 16 / 4 * 8 + lane / 16 * 4 + lane % 2;
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            const float other = paired ? __shfl_xor_sync(0xffffffffu, sum[i], 8) : 0.0f;
            if (!paired || lane % 16 < 8)
                result(first + i % 4 / 2 * 2, i / 4 * 4 + lane % 4 / 2 * 2 + i % 2, sum[i], other);
        }
    }
};

#endif

// x: a step of the rows of x in shared memory.
template <WeightFormat format, int groups>
__device__ __forceinline__ void multiply_shared(const typename RowUnit<format>::Raw (&raw)[lane_units],
                                                const __half* x, float (&sum)[groups][8]) {
    const __half* const mine = x + WarpProduct::x_row() * WarpProduct::shared_stride;
    const auto read = [&](int n, int i, int piece) {
        return *reinterpret_cast<const uint4*>(mine +
                                               WarpProduct::place(WarpProduct::unit(i) * 4 + piece) * 8 +
                                               n * x_group * WarpProduct::shared_stride);
    };
    WarpProduct::multiply_by<format>(raw, read, sum);
}

}  // namespace voltpile::llm
