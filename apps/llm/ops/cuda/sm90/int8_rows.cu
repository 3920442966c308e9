#include "llm/ops/cuda/sm90/int8_rows.h"

#include <cuda_fp16.h>

#include <cmath>
#include <type_traits>

#include "base/error.h"
#include "llm/ops/cuda/early_launch.cuh"
#include "llm/ops/cuda/half.cuh"
#include "llm/ops/cuda/row_parts.cuh"
#include "llm/ops/cuda/sm90/warpgroup.cuh"

namespace voltpile::llm {

namespace {

constexpr int most_threads = 1024;
constexpr int group = 16;  // columns that a thread rounds

// A row in shared memory. Without gaps, lanes that are 16 columns apart would meet in the same banks.
__host__ __device__ constexpr int place_of(int column) {
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
    float* const to = row + place_of(static_cast<int>(first));
#pragma unroll
    for (int j = 0; j < 1 << bits; ++j) to[place_of(j * FirstColumns<factors>::distance)] = v[j];
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
// The same of a norm's result; each thread has some columns. Waits for earlier kernels.
template <int factors>
__device__ __forceinline__ void norm_row(const NormArgs& norm, int number, const Rotation& rotation,
                                         std::uint32_t signs, float* row) {
    using Columns = FirstColumns<factors>;
    __shared__ float sums[32];
    const std::int64_t begin = static_cast<std::int64_t>(number) * rotation.columns;
    const bool mine = threadIdx.x < Columns::count(rotation);
    const unsigned first = Columns::first(threadIdx.x);
    float v[1 << Columns::bits] = {}, weight[1 << Columns::bits];
    if (mine) {
#pragma unroll
        for (int j = 0; j < 1 << Columns::bits; ++j) weight[j] = norm.weight[first + j * Columns::distance];
    }
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
    if (threadIdx.x == 0 && !isfinite(mean))
        trip(norm.sentinel, norm.place + static_cast<unsigned>(number), 0);
    const float scale = 1.0f / sqrtf(mean + norm.eps);
    if (mine) {
        __half* const out = static_cast<__half*>(norm.out) + begin + first;
#pragma unroll
        for (int j = 0; j < 1 << Columns::bits; ++j) {
            const __half value = limited_half(v[j] * scale * weight[j], norm.limit);
            out[j * Columns::distance] = value;
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
            float* const at = row + place_of(static_cast<int>((i / 16 << (bits + 4)) + i % 16));
            float v[1 << bits];
#pragma unroll
            for (int j = 0; j < 1 << bits; ++j) v[j] = at[place_of(j * 16)];
            butterflies<bits>(v);
#pragma unroll
            for (int j = 0; j < 1 << bits; ++j) at[place_of(j * 16)] = v[j];
        }
        __syncthreads();
    }
}

// The last pass.
__device__ __forceinline__ void rotated_group(const float* row, int column, float (&v)[group]) {
    const auto* from = reinterpret_cast<const float4*>(row + place_of(column));
#pragma unroll
    for (int i = 0; i < group / 4; ++i) {
        const float4 four = from[i];
        v[4 * i] = four.x, v[4 * i + 1] = four.y, v[4 * i + 2] = four.z, v[4 * i + 3] = four.w;
    }
    butterflies<4>(v);
}

// Returns the largest magnitude of the block's threads as bits, of which those of NaN are the largest.
__device__ __forceinline__ std::uint32_t largest_of_block(std::uint32_t bits) {
    __shared__ std::uint32_t of_warp[most_threads / 32];
    bits = __reduce_max_sync(0xffffffffu, bits);
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = bits;
    __syncthreads();
    const unsigned lane = threadIdx.x % 32;
    return __reduce_max_sync(0xffffffffu, lane < blockDim.x / 32 ? of_warp[lane] : 0);
}

// Returns value * inverse, each at most 127, as four bytes. Adding 1.5 * 2^23 leaves the integer in the low
// bits.
__device__ __forceinline__ std::uint32_t rounded_bytes(const float* value, float inverse) {
    std::uint32_t bits[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) bits[i] = __float_as_uint(fmaf(value[i], inverse, 0x1.8p23f));
    return __byte_perm(__byte_perm(bits[0], bits[1], 0x0040), __byte_perm(bits[2], bits[3], 0x0040), 0x5410);
}

// See launch_int8_rows() and launch_normed_int8_rows(). Grid: (rows). divisor: that of H, inverse.
template <int factors, bool normed>
__global__ void __launch_bounds__(most_threads)
    int8_rows(const __half* x, const __grid_constant__ NormArgs norm, const Rotation rotation,
              const Int8Places to, float divisor) {
    let_next_kernel_begin();
    std::uint32_t signs = 0;
    if (threadIdx.x < FirstColumns<factors>::count(rotation))
        signs = FirstColumns<factors>::signs(rotation, threadIdx.x);
    extern __shared__ __align__(16) float row[];
    const int columns = rotation.columns, number = static_cast<int>(blockIdx.x);
    if constexpr (normed) {
        norm_row<factors>(norm, number, rotation, signs, row);
    } else {
        wait_for_earlier_kernels();
        load_row<factors>(x + static_cast<std::int64_t>(number) * columns, rotation, signs, row);
    }
    combine<factors>(columns, row);
    const int begin = static_cast<int>(threadIdx.x) * group, step = static_cast<int>(blockDim.x) * group;
    float v[group];
    std::uint32_t largest = 0;
    for (int column = begin; column < columns; column += step) {
        rotated_group(row, column, v);
#pragma unroll
        for (const float each : v) largest = max(largest, __float_as_uint(each) & 0x7fffffff);
    }
    const float most = __uint_as_float(largest_of_block(largest));
    const bool finite = most < INFINITY;  // not NaN either
    const float inverse = finite && most > 0 ? 127 / most : 0;
    const int place = to.first + (to.alternates ? number / 8 * 16 + number % 8 : number);
    if (threadIdx.x == 0) to.rows.scale[place] = finite ? most / 127 * divisor : NAN;
    const int steps = (columns + step_columns - 1) / step_columns, r = place % to.each;
    std::int8_t* const out =
        to.rows.quants + (static_cast<std::int64_t>(place / to.each) * steps * to.each + r) * step_columns;
    for (int column = begin; column < steps * step_columns; column += step) {
        uint4 bytes = make_uint4(0, 0, 0, 0);
        if (column < columns) {
            if (columns > step) rotated_group(row, column, v);  // otherwise v has them
            bytes = make_uint4(rounded_bytes(v, inverse), rounded_bytes(v + 4, inverse),
                               rounded_bytes(v + 8, inverse), rounded_bytes(v + 12, inverse));
        }
        const int piece = column % step_columns / group;
        *reinterpret_cast<uint4*>(out +
                                  static_cast<std::int64_t>(column / step_columns) * to.each * step_columns +
                                  swizzled(r, piece) * group) = finite ? bytes : make_uint4(0, 0, 0, 0);
    }
}

// The threads of a block: as few as have a group each, or equally many. With a norm, those with first
// columns.
int threads_for(int columns) {
    const int groups = columns / group, times = (groups + most_threads - 1) / most_threads;
    return ((groups + times - 1) / times + 31) / 32 * 32;
}
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

template <int factors, bool normed>
void launch_rows(const void* x, const NormArgs& norm, int rows, int threads, const Rotation& rotation,
                 const Int8Places& to, const Stream& stream) {
    const std::size_t bytes = sizeof(float) * static_cast<std::size_t>(place_of(rotation.columns));
    cuda_check(cudaFuncSetAttribute(int8_rows<factors, normed>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    static_cast<int>(bytes)),
               "shared memory of rounded rows");
    launch_early("rounding rows to integers", int8_rows<factors, normed>, {rows, threads, bytes}, stream,
                 static_cast<const __half*>(x), norm, rotation, to,
                 static_cast<float>(std::pow(2, -0.5 * factors)));
}

}  // namespace

void launch_int8_rows(const void* x, int rows, const Rotation& rotation, const Int8Places& to,
                      const Stream& stream) {
    with_factors(rotation, [&](auto factors) {
        launch_rows<factors, false>(x, {}, rows, threads_for(rotation.columns), rotation, to, stream);
    });
}

bool norms_in_int8_rows(const Rotation& rotation) {
    bool fits = false;
    with_factors(rotation,
                 [&](auto factors) { fits = threads_with_norm<factors>(rotation.columns) <= most_threads; });
    return fits;
}

void launch_normed_int8_rows(const NormArgs& norm, int rows, const Rotation& rotation, const Int8Places& to,
                             const Stream& stream) {
    with_factors(rotation, [&](auto factors) {
        launch_rows<factors, true>(nullptr, norm, rows, threads_with_norm<factors>(rotation.columns),
                                   rotation, to, stream);
    });
}

}  // namespace voltpile::llm
