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
        load_weights(norm, 0, weight_);
    }

    // Writes the normed row to shared memory, 16-byte aligned, complete after a barrier. fresh: as for
    // quantize_slice(). writes: whether this block also writes norm.out, and reports a sum that is not
    // finite. sums: shared memory of 32 floats. All threads call it.
    __device__ __forceinline__ void run(const NormArgs& norm, int row, bool fresh, bool writes, float* sums,
                                        void* shared) const {
        const int columns = quads_ * quad_numbers, threads = static_cast<int>(blockDim.x);
        const auto* const x =
            reinterpret_cast<const float4*>(norm.x + static_cast<std::int64_t>(row) * columns);
        const auto load = [&](int q) { return fresh ? __ldcg(x + q) : x[q]; };
        // Several quads at once, because a thread waits for each load.
        const auto load_some = [&](int first, float4(&to)[kept]) {
#pragma unroll
            for (int k = 0; k < kept; ++k) to[k] = inside(first + k) ? load(quad(first + k)) : float4{};
        };
        float sum = 0;
        const auto add_some = [&](const float4(&some)[kept]) {
#pragma unroll
            for (int k = 0; k < kept; ++k) sum = add_squares(some[k], sum);
        };
        float4 value[kept];
        load_some(0, value);
        add_some(value);
#pragma unroll 1
        for (int first = kept; first * threads < quads_; first += kept) {
            float4 more[kept];
            load_some(first, more);
            add_some(more);
        }
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
        const auto finish_some = [&](int first, const float4(&some)[kept], const float4(&weights)[kept]) {
#pragma unroll
            for (int k = 0; k < kept; ++k)
                if (inside(first + k)) finish(quad(first + k), some[k], weights[k]);
        };
        finish_some(0, value, weight_);
#pragma unroll 1
        for (int first = kept; first * threads < quads_; first += kept) {
            float4 weights[kept];
            load_some(first, value);
            load_weights(norm, first, weights);
            finish_some(first, value, weights);
        }
    }

  private:
    static constexpr int kept = 4;  // quads of a thread that stay in registers

    __device__ __forceinline__ static float add_squares(const float4& v, float sum) {
        return fmaf(v.w, v.w, fmaf(v.z, v.z, fmaf(v.y, v.y, fmaf(v.x, v.x, sum))));
    }
    __device__ __forceinline__ void load_weights(const NormArgs& norm, int first, float4 (&to)[kept]) const {
#pragma unroll
        for (int k = 0; k < kept; ++k)
            to[k] =
                inside(first + k) ? reinterpret_cast<const float4*>(norm.weight)[quad(first + k)] : float4{};
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
