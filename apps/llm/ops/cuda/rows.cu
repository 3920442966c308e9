#include "llm/ops/cuda/early_launch.cuh"
#include "llm/ops/cuda/half.cuh"
#include "llm/ops/cuda/kv_element.cuh"
#include "llm/ops/cuda/prepare_head.cuh"
#include "llm/ops/cuda/rotate_blocks.cuh"
#include "llm/ops/cuda/row_parts.cuh"
#include "llm/ops/half_limit.h"

namespace voltpile::llm {

namespace {

// One block per row. A thread takes 4 columns at a time if the columns are a multiple of 4; the first of them
// stay in registers. normed: false to leave out the norm.
template <class Vector, bool normed>
__global__ void __launch_bounds__(1024)
    add_rms_norm(float* x, const float* delta, const float* bias, const float* weight, float eps, __half* out,
                 int columns, float limit, std::uint64_t place, std::uint64_t* sentinel) {
    constexpr int width = sizeof(Vector) / sizeof(float), kept = 2;
    __shared__ float shared[32];
    const std::int64_t begin = static_cast<std::int64_t>(blockIdx.x) * columns;
    const int vectors = columns / width, threads = static_cast<int>(blockDim.x);
    auto* const xs = reinterpret_cast<Vector*>(x + begin);
    const auto* const ds = reinterpret_cast<const Vector*>(delta + begin);
    const auto* const bs = reinterpret_cast<const Vector*>(bias);
    const auto* const ws = reinterpret_cast<const Vector*>(weight);
    const auto place_of = [&](int k) { return static_cast<int>(threadIdx.x) + k * threads; };
    const auto add = [](Vector& to, const Vector& from) {
#pragma unroll
        for (int i = 0; i < width; ++i)
            reinterpret_cast<float*>(&to)[i] += reinterpret_cast<const float*>(&from)[i];
    };
    float sum = 0;
    const auto add_squares = [&](const Vector& of) {
#pragma unroll
        for (int i = 0; i < width; ++i) {
            const float value = reinterpret_cast<const float*>(&of)[i];
            sum = fmaf(value, value, sum);
        }
    };

    let_next_kernel_begin();
    Vector w[kept]{}, b[kept]{}, v[kept]{}, d[kept]{};
#pragma unroll
    for (int k = 0; k < kept; ++k) {  // no kernel writes these
        if (place_of(k) >= vectors) continue;
        if constexpr (normed) w[k] = ws[place_of(k)];
        if (bias != nullptr) b[k] = bs[place_of(k)];
    }
    wait_for_earlier_kernels();
#pragma unroll
    for (int k = 0; k < kept; ++k) {
        if (place_of(k) >= vectors) continue;
        v[k] = xs[place_of(k)];
        if (delta != nullptr) d[k] = ds[place_of(k)];
    }
#pragma unroll
    for (int k = 0; k < kept; ++k) {
        if (place_of(k) >= vectors) continue;
        if (delta != nullptr) {
            add(v[k], d[k]);
            if (bias != nullptr) add(v[k], b[k]);
            xs[place_of(k)] = v[k];
        }
        add_squares(v[k]);
    }
#pragma unroll 1
    for (int c = place_of(kept); c < vectors; c += threads) {
        Vector value = xs[c];
        if (delta != nullptr) {
            add(value, ds[c]);
            if (bias != nullptr) add(value, bs[c]);
            xs[c] = value;
        }
        add_squares(value);
    }
    const float mean = sum_over_block(sum, shared) / static_cast<float>(columns);
    if (threadIdx.x == 0 && !isfinite(mean)) trip(sentinel, place, blockIdx.x);
    const float scale = 1.0f / sqrtf(mean + eps);
    const auto store = [&](int c, const Vector& of, const Vector& weights) {
        __half result[width];
#pragma unroll
        for (int i = 0; i < width; ++i) {
            float value = reinterpret_cast<const float*>(&of)[i];
            if constexpr (normed) value = value * scale * reinterpret_cast<const float*>(&weights)[i];
            result[i] = limited_half(value, limit);
        }
        if constexpr (width == 4) {
            *reinterpret_cast<uint2*>(out + begin + c * 4) = *reinterpret_cast<const uint2*>(result);
        } else {
            out[begin + c] = result[0];
        }
    };
#pragma unroll
    for (int k = 0; k < kept; ++k)
        if (place_of(k) < vectors) store(place_of(k), v[k], w[k]);
#pragma unroll 1
    for (int c = place_of(kept); c < vectors; c += threads) {
        Vector weights{};
        if constexpr (normed) weights = ws[c];
        store(c, xs[c], weights);
    }
}

// One block per row.
__global__ void __launch_bounds__(1024) rms_norm(float* x, const float* weight, float eps, int columns,
                                                 std::uint64_t place, std::uint64_t* sentinel) {
    __shared__ float shared[32];
    begin_after_earlier_kernels();
    float* xs = x + static_cast<std::int64_t>(blockIdx.x) * columns;
    float sum = 0;
    for (int c = static_cast<int>(threadIdx.x); c < columns; c += static_cast<int>(blockDim.x))
        sum = fmaf(xs[c], xs[c], sum);
    const float mean = sum_over_block(sum, shared) / static_cast<float>(columns);
    if (threadIdx.x == 0 && !isfinite(mean)) trip(sentinel, place, blockIdx.x);
    const float scale = 1.0f / sqrtf(mean + eps);
    for (int c = static_cast<int>(threadIdx.x); c < columns; c += static_cast<int>(blockDim.x))
        xs[c] = xs[c] * scale * weight[c];
}

// Grid: (rows, 2): queries and keys.
__global__ void __launch_bounds__(256)
    sum_squares(const __half* qkv, int columns, int q_columns, int k_columns, float limit, float* sums) {
    __shared__ float shared[32];
    begin_after_earlier_kernels();
    const int part = static_cast<int>(blockIdx.y), count = part == 0 ? q_columns : k_columns;
    const __half* from = qkv + static_cast<std::int64_t>(blockIdx.x) * columns + (part == 0 ? 0 : q_columns);
    float sum = 0;
    for (int c = static_cast<int>(threadIdx.x); c < count; c += static_cast<int>(blockDim.x)) {
        const float v = limited(__half2float(from[c]), limit);
        sum = fmaf(v, v, sum);
    }
    sum = sum_over_block(sum, shared);
    if (threadIdx.x == 0) sums[2 * blockIdx.x + blockIdx.y] = sum;
}

// One block per row.
__global__ void add_rows(const float* x, const float* bias, int columns, float* out, int out_columns) {
    begin_after_earlier_kernels();
    const float* const from = x + static_cast<std::int64_t>(blockIdx.x) * columns;
    float* const to = out + static_cast<std::int64_t>(blockIdx.x) * out_columns;
    for (int c = static_cast<int>(threadIdx.x); c < columns; c += static_cast<int>(blockDim.x)) {
        const float sum = to[c] + from[c];
        to[c] = bias != nullptr ? sum + bias[c] : sum;
    }
}

constexpr int rope_warps = 4, most_numbers_of_lane = 32;

// Quantizes a head as KvElement::I8. All lanes of the warp call it; x as for rotate_blocks().
template <int each>
__device__ void quantize_to_i8(float (&x)[each], int dim, float limit, std::int8_t* to, float* scale) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    float largest = 0;
    bool finite = true;
#pragma unroll
    for (int i = 0; i < each; ++i) {
        x[i] = limited(x[i], limit);
        largest = fmaxf(largest, fabsf(x[i]));
        finite = finite && isfinite(x[i]);
    }
    for (int offset = 16; offset > 0; offset /= 2)
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, offset));
    finite = __all_sync(0xffffffffu, finite);
    const float step = largest / 127.0f;
    const bool any = finite && step > 0;
#pragma unroll
    for (int i = 0; i < each; ++i) {
        const float q = any ? fminf(fmaxf(__fdiv_rn(x[i], step), -127.0f), 127.0f) : 0.0f;
        if (lane + 32 * i < dim) to[lane + 32 * i] = static_cast<std::int8_t>(__float2int_rn(q));
    }
    if (lane == 0) *scale = finite ? step : NAN;
}

constexpr float largest_half = half_limit(true);

// Quantizes a head as KvElement::I4. All lanes of the warp call it, one for each number of a group; numbers
// as for rotate_blocks().
template <int each>
__device__ void quantize_to_i4(const float (&numbers)[each], int dim, float limit, std::uint8_t* codes,
                               __half2* scales) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    static_assert(kKvGroup == 32);
#pragma unroll
    for (int group = 0; group < each; ++group, codes += kKvGroupBytes, ++scales) {
        if (32 * group >= dim) break;
        const bool inside = 32 * group + lane < dim;
        const float x = limited(numbers[group], limit);
        float smallest = inside ? x : INFINITY, largest = inside ? x : -INFINITY;
        for (int offset = 16; offset > 0; offset /= 2) {
            smallest = fminf(smallest, __shfl_xor_sync(0xffffffffu, smallest, offset));
            largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, offset));
        }
        const bool fits = __all_sync(0xffffffffu, fabsf(x) <= largest_half);
        const __half least = __float2half_rn(smallest);
        const float above = __fsub_rn(largest, __half2float(least));
        const __half step = __float2half_rd(fmaxf(__fdiv_rn(above, 15.0f), 0.0f));
        const float scale = __half2float(step);
        unsigned code = 0;
        if (inside && fits && scale > 0) {
            const float q = __fdiv_rn(__fsub_rn(x, __half2float(least)), scale);
            code = static_cast<unsigned>(__float2int_rn(fminf(fmaxf(q, 0.0f), 15.0f)));
        }
        const unsigned upper = __shfl_down_sync(0xffffffffu, code, 16);
        if (lane < 16) codes[lane] = static_cast<std::uint8_t>(code | upper << 4);
        if (lane == 0) *scales = fits ? __halves2half2(step, least) : __float2half2_rn(NAN);
    }
}

// One warp per head of a row: queries, keys, values. Heads have at most 32 * each numbers. Shared memory:
// head_dim floats for each warp, behind the rope_dims floats of the turns. order: rotation_of().
template <KvElement element, int each>
__global__ void __launch_bounds__(32 * rope_warps)
    rope_and_store(__half* qkv, const QkvSettings s, const BatchView batch, const KvLayer cache, int order,
                   float limit) {
    extern __shared__ float2 turns[];
    let_next_kernel_begin();
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    const int row = static_cast<int>(blockIdx.x), head = static_cast<int>(blockIdx.y) * rope_warps + warp;
    const int sequence = batch.sequence[row], position = batch.position[row], dim = s.head_dim;
    fill_turns(s, position, turns);
    wait_for_earlier_kernels();
    __syncthreads();
    if (sequence < 0 || head >= s.heads + 2 * s.kv_heads) return;
    const bool is_query = head < s.heads, is_key = !is_query && head < s.heads + s.kv_heads;
    if (!is_query && !is_key && cache.values == cache.keys) return;
    const int kv_head = is_query ? 0 : is_key ? head - s.heads : head - s.heads - s.kv_heads;
    __half* mine = qkv + (static_cast<std::int64_t>(row) * (s.heads + 2 * s.kv_heads) + head) * dim;
    float* v = reinterpret_cast<float*>(turns + s.rope_dims / 2) + warp * dim;
    const HeadKind kind{is_query, is_key, is_query ? head : kv_head};
    PreparedHead<each> prepared;
    prepared.load(mine, s, kind);
    prepared.finish(s, kind, row, limit, turns, v);
    float x[each];
#pragma unroll
    for (int i = 0; i < each; ++i) x[i] = lane + 32 * i < dim ? v[lane + 32 * i] : 0.0f;
    if constexpr (element != KvElement::F16) rotate_blocks(x, order);
    const std::int64_t token = is_query ? 0 : token_in_cache(batch, sequence, position, s.kv_heads, kv_head);
    void* const all = is_key ? cache.keys : cache.values;
    if (element != KvElement::F16 && !is_query) {
        void* const scales = is_key ? cache.key_scales : cache.value_scales;
        if constexpr (element == KvElement::I8) {
            quantize_to_i8(x, dim, limit, static_cast<std::int8_t*>(all) + token * dim,
                           static_cast<float*>(scales) + token);
        } else {
            const std::int64_t group = token * groups_of_head(dim);
            quantize_to_i4(x, dim, limit, static_cast<std::uint8_t*>(all) + group * kKvGroupBytes,
                           static_cast<__half2*>(scales) + group);
        }
        return;
    }
    __half* to = is_query ? mine : static_cast<__half*>(all) + token * dim;
#pragma unroll
    for (int i = 0; i < each; ++i)
        if (lane + 32 * i < dim) to[lane + 32 * i] = limited_half(x[i], limit);
}

// One warp per head of a row. Heads have at most 32 * each numbers.
template <int each>
__global__ void __launch_bounds__(32 * rope_warps)
    rotate_heads(__half* rows, int columns, int heads, int dim, int order, float limit) {
    begin_after_earlier_kernels();
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const int head = static_cast<int>(blockIdx.y) * rope_warps + warp;
    if (head >= heads) return;
    __half* const mine = rows + static_cast<std::int64_t>(blockIdx.x) * columns + head * dim;
    rotate_half_head<each>(
        dim, order, limit, [&](int d) { return mine[d]; }, mine);
}

// Calls `call` with how many numbers of a head a lane has, as a compile-time constant: 32 times as many are
// at least head_dim.
template <class Call>
void with_numbers_of_lane(int head_dim, const Call& call) {
    if (head_dim <= 128)
        call(std::integral_constant<int, 4>());
    else if (head_dim <= 256)
        call(std::integral_constant<int, 8>());
    else
        call(std::integral_constant<int, most_numbers_of_lane>());
}

}  // namespace

void launch_add_rms_norm(float* x, const float* delta, const float* bias, const float* weight, float eps,
                         void* out, int rows, int columns, float limit, std::uint64_t place,
                         std::uint64_t* sentinel, const Stream& stream) {
    if (rows == 0) return;
    const bool wide = columns % 4 == 0;
    const int threads = min(max(((wide ? columns / 4 : columns) + 31) / 32 * 32, 32), 1024);
    const auto normed = wide ? add_rms_norm<float4, true> : add_rms_norm<float, true>;
    const auto plain = wide ? add_rms_norm<float4, false> : add_rms_norm<float, false>;
    launch_early("RMS norm", weight != nullptr ? normed : plain, {rows, threads}, stream, x, delta, bias,
                 weight, eps, static_cast<__half*>(out), columns, limit, place, sentinel);
}

void launch_rms_norm(float* x, const float* weight, float eps, int rows, int columns, std::uint64_t place,
                     std::uint64_t* sentinel, const Stream& stream) {
    if (rows == 0) return;
    const int threads = min((columns + 31) / 32 * 32, 1024);
    launch_early("RMS norm in place", rms_norm, {rows, threads}, stream, x, weight, eps, columns, place,
                 sentinel);
}

void launch_sum_squares(const void* qkv, const QkvSettings& settings, int rows, int columns, float limit,
                        float* sums, const Stream& stream) {
    if (rows == 0) return;
    launch_early("sums of squares", sum_squares, {rows, 256, 0, 2}, stream, static_cast<const __half*>(qkv),
                 columns, settings.heads * settings.head_dim, settings.kv_heads * settings.head_dim, limit,
                 sums);
}

void launch_add_rows(const float* x, const float* bias, int rows, int columns, float* out, int out_columns,
                     const Stream& stream) {
    if (rows == 0) return;
    launch_early("adding rows", add_rows, {rows, 256}, stream, x, bias, columns, out, out_columns);
}

void launch_rope_and_store(void* qkv, const QkvSettings& settings, const BatchView& batch,
                           const KvLayer& cache, float limit, const Stream& stream) {
    if (batch.rows == 0) return;
    const int heads = settings.heads + 2 * settings.kv_heads;
    const std::size_t shared =
        static_cast<std::size_t>(settings.rope_dims + rope_warps * settings.head_dim) * sizeof(float);
    with_element(cache.element, [&](auto element) {
        with_numbers_of_lane(settings.head_dim, [&](auto each) {
            launch_early("RoPE", rope_and_store<element, each>,
                         {batch.rows, 32 * rope_warps, shared, (heads + rope_warps - 1) / rope_warps}, stream,
                         static_cast<__half*>(qkv), settings, batch, cache, rotation_of(settings, cache),
                         limit);
        });
    });
}

void launch_rotate_heads(void* rows, int count, int columns, int heads, int head_dim, int order, float limit,
                         const Stream& stream) {
    if (count == 0 || order == 1) return;
    with_numbers_of_lane(head_dim, [&](auto each) {
        launch_early("rotation of heads", rotate_heads<each>,
                     {count, 32 * rope_warps, 0, (heads + rope_warps - 1) / rope_warps}, stream,
                     static_cast<__half*>(rows), columns, heads, head_dim, order, limit);
    });
}

}  // namespace voltpile::llm
