// An RMS norm in the kernel that takes its result. Every block computes the norm of the whole row: that takes
// less time than another kernel, and x comes from the L2 cache.
#pragma once

#include "llm/ops/cuda/half.cuh"
#include "llm/ops/cuda/norm_args.h"
#include "llm/ops/cuda/row_parts.cuh"

namespace voltpile::llm {

// A row is divided into quads of 4 numbers, which go around the threads of the block, so that a warp loads
// adjacent ones.
constexpr int quad_numbers = 4;

class RowNorm {
  public:
    // Loads weights of the norm, which does not depend on other kernels.
    __device__ __forceinline__ RowNorm(const NormArgs& norm, int columns) : quads_(columns / quad_numbers) {
#pragma unroll
        for (int k = 0; k < kept; ++k) weight_[k] = inside(k) ? weight_of(norm, quad(k)) : float4{};
    }

    // Writes the normed row to shared memory, 16-byte aligned, complete after a barrier. fresh: as for
    // quantize_halves(). writes: whether this block also writes norm.out, and reports a sum that is not
    // finite. sums: shared memory of 32 floats. All threads call it.
    __device__ __forceinline__ void run(const NormArgs& norm, int row, bool fresh, bool writes, float* sums,
                                        void* shared) const {
        const int columns = quads_ * quad_numbers, threads = static_cast<int>(blockDim.x);
        const auto* const x =
            reinterpret_cast<const float4*>(norm.x + static_cast<std::int64_t>(row) * columns);
        const auto load = [&](int q) { return fresh ? __ldcg(x + q) : x[q]; };
        float4 value[kept];
        float sum = 0;
#pragma unroll
        for (int k = 0; k < kept; ++k) value[k] = inside(k) ? load(quad(k)) : float4{};
#pragma unroll
        for (int k = 0; k < kept; ++k) sum = add_squares(value[k], sum);
#pragma unroll 1
        for (int q = quad(kept); q < quads_; q += threads) sum = add_squares(load(q), sum);
        const float mean = sum_over_block(sum, sums) / static_cast<float>(columns);
        if (writes && threadIdx.x == 0 && !isfinite(mean))
            trip(norm.sentinel, norm.place, static_cast<unsigned>(row));
        const float scale = 1.0f / sqrtf(mean + norm.eps);
        uint2* const out = reinterpret_cast<uint2*>(static_cast<__half*>(norm.out) +
                                                    static_cast<std::int64_t>(row) * columns);
        const auto finish = [&](int q, const float4& v, const float4& w) {
            uint2 halves;
            auto* const pairs = reinterpret_cast<__half2*>(&halves);
            pairs[0] = __halves2half2(limited_half(v.x * scale * w.x, norm.limit),
                                      limited_half(v.y * scale * w.y, norm.limit));
            pairs[1] = __halves2half2(limited_half(v.z * scale * w.z, norm.limit),
                                      limited_half(v.w * scale * w.w, norm.limit));
            static_cast<uint2*>(shared)[q] = halves;
            if (writes) out[q] = halves;
        };
#pragma unroll
        for (int k = 0; k < kept; ++k)
            if (inside(k)) finish(quad(k), value[k], weight_[k]);
#pragma unroll 1
        for (int q = quad(kept); q < quads_; q += threads) finish(q, load(q), weight_of(norm, q));
    }

  private:
    static constexpr int kept = 4;  // quads of a thread that stay in registers

    __device__ __forceinline__ static float add_squares(const float4& v, float sum) {
        return fmaf(v.w, v.w, fmaf(v.z, v.z, fmaf(v.y, v.y, fmaf(v.x, v.x, sum))));
    }
    __device__ __forceinline__ static float4 weight_of(const NormArgs& norm, int q) {
        return reinterpret_cast<const float4*>(norm.weight)[q];
    }
    __device__ __forceinline__ static int quad(int k) {
        return static_cast<int>(threadIdx.x) + k * static_cast<int>(blockDim.x);
    }
    __device__ __forceinline__ bool inside(int k) const {
        return quad(k) < quads_;
    }

    int quads_;
    float4 weight_[kept];
};

}  // namespace voltpile::llm
