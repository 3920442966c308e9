// How a block rotates a row (rotation.h) and rounds it to 8 bits. The result does not depend on how many
// threads the block has.
#pragma once

#include <cuda_fp16.h>

#include <cmath>
#include <type_traits>

#include "base/error.h"
#include "llm/ops/cuda/early_launch.cuh"
#include "llm/ops/cuda/half.cuh"
#include "llm/ops/cuda/norm_args.h"
#include "llm/ops/cuda/rotation.h"
#include "llm/ops/cuda/row_parts.cuh"

namespace voltpile::llm {

constexpr int most_row_threads = 1024;
constexpr int rounded_columns = 16;  // columns that a thread rounds

// A row in shared memory. Without gaps, lanes that are 16 columns apart would meet in the same banks.
__host__ __device__ constexpr int padded(int column) {
    return column + column / 16 * 4;
}

// How the factors of H are applied: some of the largest distances with the loads of x, then the middle ones,
// and four of neighbors last.
template <int factors>
struct Passes {
    static constexpr int size = 1 << factors;
    static constexpr int middle = factors > 8 ? (factors - 4) / 2 : 0, first = factors - 4 - middle;
    static_assert(factors >= 5 && first <= 4);
};

// Multiplies 2^bits numbers by a Hadamard matrix without its divisor.
template <int bits>
__device__ __forceinline__ void butterflies(float (&v)[1 << bits]) {
#pragma unroll
    for (int half = 1; half < 1 << bits; half *= 2) {
#pragma unroll
        for (int i = 0; i < 1 << bits; ++i) {
            if (i & half) continue;
            const float a = v[i], b = v[i + half];
            v[i] = a + b;
            v[i + half] = a - b;
        }
    }
}

// What the first pass reads: 2^bits columns.
template <int factors>
struct FirstColumns {
    static constexpr int bits = Passes<factors>::first, distance = Passes<factors>::size >> bits;
    __device__ static unsigned first(unsigned i) {
        return i / distance * Passes<factors>::size + i % distance;
    }
    // Returns in how many groups of 2^bits the columns of a row are.
    __device__ static unsigned count(const Rotation& rotation) {
        return static_cast<unsigned>(rotation.columns) >> bits;
    }
    // Returns their signs, as bits.
    __device__ static std::uint32_t signs(const Rotation& rotation, unsigned i) {
        std::uint32_t bits_of_all = 0;
#pragma unroll
        for (int j = 0; j < 1 << bits; ++j) {
            const unsigned column = first(i) + j * distance;
            bits_of_all |= (rotation.signs[column / 32] >> (column % 32) & 1) << j;
        }
        return bits_of_all;
    }
};

// The first pass: of columns in registers, to shared memory.
template <int factors>
__device__ __forceinline__ void put_first(float (&v)[1 << FirstColumns<factors>::bits], std::uint32_t signs,
                                          unsigned first, float* row) {
    constexpr int bits = FirstColumns<factors>::bits;
#pragma unroll
    for (int j = 0; j < 1 << bits; ++j) v[j] = __uint_as_float(__float_as_uint(v[j]) ^ (signs >> j << 31));
    butterflies<bits>(v);
    float* const to = row + padded(static_cast<int>(first));
#pragma unroll
    for (int j = 0; j < 1 << bits; ++j) to[padded(j * FirstColumns<factors>::distance)] = v[j];
}
// signs: of the thread's first columns.
template <int factors>
__device__ __forceinline__ void load_row(const __half* x, const Rotation& rotation, std::uint32_t signs,
                                         float* row) {
    using Columns = FirstColumns<factors>;
    for (unsigned i = threadIdx.x; i < Columns::count(rotation); i += blockDim.x) {
        const unsigned first = Columns::first(i);
        if (i != threadIdx.x) signs = Columns::signs(rotation, i);
        float v[1 << Columns::bits];
#pragma unroll
        for (int j = 0; j < 1 << Columns::bits; ++j) v[j] = __half2float(x[first + j * Columns::distance]);
        put_first<factors>(v, signs, first, row);
    }
    __syncthreads();
}
// The same of a norm's result; each thread has some columns. weight: of the norm, for these. Waits for
// earlier kernels. writes: norm.out, and reports a sum that is not finite.
template <int factors>
__device__ __forceinline__ void norm_row(const NormArgs& norm, int number, const Rotation& rotation,
                                         std::uint32_t signs,
                                         const float (&weight)[1 << FirstColumns<factors>::bits], bool writes,
                                         float* row) {
    using Columns = FirstColumns<factors>;
    __shared__ float sums[32];
    const std::int64_t begin = static_cast<std::int64_t>(number) * rotation.columns;
    const bool mine = threadIdx.x < Columns::count(rotation);
    const unsigned first = Columns::first(threadIdx.x);
    float v[1 << Columns::bits] = {};
    wait_for_earlier_kernels();
    float sum = 0;
    if (mine) {
        float* const x = norm.x + begin + first;
        const float* const delta = norm.delta + begin + first;
#pragma unroll
        for (int j = 0; j < 1 << Columns::bits; ++j) v[j] = x[j * Columns::distance];
        if (norm.delta != nullptr) {
#pragma unroll
            for (int j = 0; j < 1 << Columns::bits; ++j) v[j] += delta[j * Columns::distance];
            if (norm.bias != nullptr) {
#pragma unroll
                for (int j = 0; j < 1 << Columns::bits; ++j) v[j] += norm.bias[first + j * Columns::distance];
            }
#pragma unroll
            for (int j = 0; j < 1 << Columns::bits; ++j) x[j * Columns::distance] = v[j];
        }
#pragma unroll
        for (int j = 0; j < 1 << Columns::bits; ++j) sum = fmaf(v[j], v[j], sum);
    }
    const float mean = sum_over_block(sum, sums) / static_cast<float>(rotation.columns);
    if (writes && threadIdx.x == 0 && !isfinite(mean))
        trip(norm.sentinel, norm.place + static_cast<unsigned>(number), 0);
    const float scale = 1.0f / sqrtf(mean + norm.eps);
    if (mine) {
        __half* const out = static_cast<__half*>(norm.out) + begin + first;
#pragma unroll
        for (int j = 0; j < 1 << Columns::bits; ++j) {
            const __half value = limited_half(v[j] * scale * weight[j], norm.limit);
            if (writes) out[j * Columns::distance] = value;
            v[j] = __half2float(value);
        }
        put_first<factors>(v, signs, first, row);
    }
    __syncthreads();
}

// The middle pass: of columns that are 16 apart.
template <int factors>
__device__ __forceinline__ void combine(int columns, float* row) {
    constexpr int bits = Passes<factors>::middle;
    if constexpr (bits > 0) {
        const auto all = static_cast<unsigned>(columns) >> bits;
        for (unsigned i = threadIdx.x; i < all; i += blockDim.x) {
            float* const at = row + padded(static_cast<int>((i / 16 << (bits + 4)) + i % 16));
            float v[1 << bits];
#pragma unroll
            for (int j = 0; j < 1 << bits; ++j) v[j] = at[padded(j * 16)];
            butterflies<bits>(v);
#pragma unroll
            for (int j = 0; j < 1 << bits; ++j) at[padded(j * 16)] = v[j];
        }
        __syncthreads();
    }
}

// The last pass.
__device__ __forceinline__ void rotated_group(const float* row, int column, float (&v)[rounded_columns]) {
    const auto* from = reinterpret_cast<const float4*>(row + padded(column));
#pragma unroll
    for (int i = 0; i < rounded_columns / 4; ++i) {
        const float4 four = from[i];
        v[4 * i] = four.x, v[4 * i + 1] = four.y, v[4 * i + 2] = four.z, v[4 * i + 3] = four.w;
    }
    butterflies<4>(v);
}

// Returns the largest of the warp's.
__device__ __forceinline__ std::uint32_t largest_of_warp(std::uint32_t bits) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2)
        bits = max(bits, __shfl_xor_sync(0xffffffffu, bits, offset));
    return bits;
#else
    return __reduce_max_sync(0xffffffffu, bits);
#endif
}

// Returns the largest magnitude of the block's threads as bits, of which those of NaN are the largest.
__device__ __forceinline__ std::uint32_t largest_of_block(std::uint32_t bits) {
    __shared__ std::uint32_t of_warp[most_row_threads / 32];
    bits = largest_of_warp(bits);
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = bits;
    __syncthreads();
    const unsigned lane = threadIdx.x % 32;
    return largest_of_warp(lane < blockDim.x / 32 ? of_warp[lane] : 0);
}

// Returns value * inverse, each at most 127, as four bytes. Adding 1.5 * 2^23 leaves the integer in the low
// bits.
__device__ __forceinline__ std::uint32_t rounded_bytes(const float* value, float inverse) {
    std::uint32_t bits[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) bits[i] = __float_as_uint(fmaf(value[i], inverse, 0x1.8p23f));
    return __byte_perm(__byte_perm(bits[0], bits[1], 0x0040), __byte_perm(bits[2], bits[3], 0x0040), 0x5410);
}

// What a block does with a row, from its loads on.
template <int factors>
class Int8Row {
  public:
    // norm: of load_normed(), or nullptr. Loads what does not depend on earlier kernels.
    __device__ __forceinline__ Int8Row(const Rotation& rotation, const NormArgs* norm) : rotation_(rotation) {
        using Columns = FirstColumns<factors>;
        if (threadIdx.x >= Columns::count(rotation)) return;
        signs_ = Columns::signs(rotation, threadIdx.x);
        if (norm == nullptr) return;
#pragma unroll
        for (int j = 0; j < 1 << Columns::bits; ++j)
            weight_[j] = norm->weight[Columns::first(threadIdx.x) + j * Columns::distance];
    }
    // row: shared memory of padded(columns) floats. Both wait for earlier kernels. load_normed(): loads row
    // `number` of the norm instead of x.
    __device__ __forceinline__ void load(const __half* x, float* row) const {
        wait_for_earlier_kernels();
        load_row<factors>(x, rotation_, signs_, row);
        combine<factors>(rotation_.columns, row);
    }
    __device__ __forceinline__ void load_normed(const NormArgs& norm, int number, bool writes,
                                                float* row) const {
        norm_row<factors>(norm, number, rotation_, signs_, weight_, writes, row);
        combine<factors>(rotation_.columns, row);
    }
    // Calls put(column, bytes) for each 16 columns up to `end`, with zeros for those that do not exist or if
    // a number is not finite. divisor: that of H, inverse. Returns the scale to all threads, or NaN.
    template <class Put>
    __device__ __forceinline__ float round(const float* row, int end, float divisor, const Put& put) const {
        const int columns = rotation_.columns;
        const int begin = static_cast<int>(threadIdx.x) * rounded_columns,
                  step = static_cast<int>(blockDim.x) * rounded_columns;
        float v[rounded_columns];
        std::uint32_t largest = 0;
        for (int column = begin; column < columns; column += step) {
            rotated_group(row, column, v);
#pragma unroll
            for (const float each : v) largest = max(largest, __float_as_uint(each) & 0x7fffffff);
        }
        const float most = __uint_as_float(largest_of_block(largest));
        const bool finite = most < INFINITY;  // not NaN either
        const float inverse = finite && most > 0 ? 127 / most : 0;
        for (int column = begin; column < end; column += step) {
            uint4 bytes = make_uint4(0, 0, 0, 0);
            if (column < columns) {
                if (columns > step) rotated_group(row, column, v);  // otherwise v has them
                bytes = make_uint4(rounded_bytes(v, inverse), rounded_bytes(v + 4, inverse),
                                   rounded_bytes(v + 8, inverse), rounded_bytes(v + 12, inverse));
            }
            put(column, finite ? bytes : make_uint4(0, 0, 0, 0));
        }
        return finite ? most / 127 * divisor : NAN;
    }

  private:
    const Rotation& rotation_;
    std::uint32_t signs_ = 0;
    float weight_[1 << FirstColumns<factors>::bits];
};

// Returns the divisor of a Hadamard matrix of 2^factors columns, inverse.
inline float hadamard_divisor(int factors) {
    return static_cast<float>(std::pow(2, -0.5 * factors));
}

// The threads that have first columns.
template <int factors>
int threads_with_norm(int columns) {
    return ((columns >> Passes<factors>::first) + 31) / 32 * 32;
}

// Calls function(std::integral_constant<int, factors>) with the factors of H.
template <int factors = 5, class Function>
void with_factors(const Rotation& rotation, const Function& function) {
    if (rotation.factors == factors) return function(std::integral_constant<int, factors>());
    if constexpr (factors < 12) return with_factors<factors + 1>(rotation, function);
    throw DeviceError("no kernel rotates so many columns");
}

}  // namespace voltpile::llm
