#include <algorithm>
#include <cmath>
#include <limits>

#include "base/half.h"
#include "llm/ops/cpu/cpu_ops.h"
#include "llm/ops/cpu/rotate_blocks.h"
#include "llm/ops/half_limit.h"

namespace voltpile::llm {
namespace {

// The RoPE rotation of one row's position.
struct Rotation {
    std::span<const float> cosine, sine;  // (rope_dims / 2)
};

float norm_scale(float squares, int count, float eps) {
    return 1 / std::sqrt(squares / static_cast<float>(count) + eps);
}

void norm_head(float* head, const float* weight, const QkvSettings& settings) {
    float squares = 0;
    for (int i = 0; i < settings.head_dim; ++i) squares += head[i] * head[i];
    const float scale = norm_scale(squares, settings.head_dim, settings.norm_eps);
    for (int i = 0; i < settings.head_dim; ++i) head[i] *= scale * weight[i];
}

// Applies a norm of all heads together to row r. keys: its keys.
void norm_row(float* queries, float* keys, std::int64_t r, const QkvSettings& settings) {
    const int dim = settings.head_dim;
    const float* squares = settings.row_squares + 2 * r;
    const float of_queries = norm_scale(squares[0], settings.norm_heads * dim, settings.norm_eps);
    const float of_keys = norm_scale(squares[1], settings.norm_kv_heads * dim, settings.norm_eps);
    for (int i = 0; i < settings.heads * dim; ++i) queries[i] *= of_queries * settings.q_norm[i];
    for (int i = 0; i < settings.kv_heads * dim; ++i) keys[i] *= of_keys * settings.k_norm[i];
}

void rotate_head(float* head, const Rotation& by, RopeStyle style) {
    const std::size_t pairs = by.cosine.size();
    const std::size_t step = style == RopeStyle::HalfSplit ? 1 : 2;
    float* partner = head + (style == RopeStyle::HalfSplit ? pairs : 1);
    for (std::size_t i = 0; i < pairs; ++i) {
        const float x = head[step * i];
        const float y = partner[step * i];
        head[step * i] = x * by.cosine[i] - y * by.sine[i];
        partner[step * i] = x * by.sine[i] + y * by.cosine[i];
    }
}

// Applies bias, norm and rotation to `count` adjacent heads. bias, norm: nullptr to leave the step out.
void prepare_heads(float* heads, int count, const float* bias, const float* norm, const Rotation& by,
                   const QkvSettings& settings) {
    const int dim = settings.head_dim;
    for (int i = 0; bias != nullptr && i < count * dim; ++i) heads[i] += bias[i];
    for (int h = 0; h < count; ++h) {
        if (norm != nullptr) norm_head(heads + h * dim, norm, settings);
        rotate_head(heads + h * dim, by, settings.rope_style);
    }
}

// Quantizes a head as KvElement::I8 and returns the scale.
float quantize_to_i8(const float* from, std::int8_t* to, int count) {
    float largest = 0, sum = 0;  // sum: 0 if all values are finite, otherwise NaN
    for (int i = 0; i < count; ++i) {
        largest = std::max(largest, std::abs(from[i]));
        sum += from[i] * 0.0F;
    }
    if (sum != 0 || std::isnan(sum)) {
        std::fill_n(to, count, std::int8_t{0});
        return std::numeric_limits<float>::quiet_NaN();
    }
    const float scale = largest / 127;
    for (int i = 0; i < count; ++i) {
        const float q = scale > 0 ? std::clamp(from[i] / scale, -127.0F, 127.0F) : 0;
        to[i] = static_cast<std::int8_t>(std::nearbyint(q));
    }
    return scale;
}

// Returns x rounded down to fp16. x: 0 to 65504.
std::uint16_t half_below(float x) {
    const std::uint16_t nearest = half_from_float(x);
    return float_from_half(nearest) > x ? static_cast<std::uint16_t>(nearest - 1) : nearest;
}

// Quantizes a group of at most kKvGroup numbers as KvElement::I4. scales: gets `scale` and `least`.
void quantize_group(const float* from, std::size_t count, std::uint8_t* codes, std::uint16_t* scales) {
    float least = from[0], largest = from[0];
    bool fits = true;
    for (std::size_t i = 0; i < count; ++i) {
        least = std::min(least, from[i]);
        largest = std::max(largest, from[i]);
        fits = fits && std::abs(from[i]) <= half_limit(true);
    }
    std::fill_n(codes, kKvGroupBytes, std::uint8_t{0});
    if (!fits) {
        scales[0] = scales[1] = half_from_float(std::numeric_limits<float>::quiet_NaN());
        return;
    }
    scales[1] = half_from_float(least);
    least = float_from_half(scales[1]);
    scales[0] = half_below(std::max(0.0F, (largest - least) / 15));
    const float scale = float_from_half(scales[0]);
    for (std::size_t i = 0; i < count && scale > 0; ++i) {
        const float q = std::clamp((from[i] - least) / scale, 0.0F, 15.0F);
        const auto code = static_cast<unsigned>(std::nearbyint(q));
        codes[i % kKvGroupBytes] |= static_cast<std::uint8_t>(i < kKvGroupBytes ? code : code << 4);
    }
}

// Quantizes a head as KvElement::I4.
void quantize_to_i4(const float* from, std::uint8_t* codes, std::uint16_t* scales, std::size_t count) {
    for (std::size_t begin = 0; begin < count; begin += kKvGroup) {
        quantize_group(from + begin, std::min(kKvGroup, count - begin), codes, scales);
        codes += kKvGroupBytes;
        scales += 2;
    }
}

}  // namespace

void CpuOps::sum_squares(HiddenRows qkv, const QkvSettings& settings, FloatRows sums) {
    const int counts[] = {settings.heads * settings.head_dim, settings.kv_heads * settings.head_dim};
    team_.for_each(qkv.rows, [&](std::int64_t r, int) {
        const float* from = host(qkv).data + r * qkv.columns;
        for (int part = 0; part < 2; ++part) {
            float sum = 0;
            for (int i = 0; i < counts[part]; ++i) sum += from[i] * from[i];
            sums.data[2 * r + part] = sum;
            from += counts[part];
        }
    });
}

void CpuOps::rope_and_store(HiddenRows qkv, const QkvSettings& settings, const BatchView& batch,
                            const KvLayer& cache) {
    const int dim = settings.head_dim, order = rotation_of(settings, cache);
    const auto pairs = static_cast<std::size_t>(settings.rope_dims / 2);
    team_.for_each(batch.rows, [&](std::int64_t item, int thread) {
        const int r = static_cast<int>(item);
        if (batch.sequence[r] < 0) return;
        auto& table = scratch_[static_cast<std::size_t>(thread)].other;
        table.resize(std::max(table.size(), 2 * pairs));
        for (std::size_t i = 0; i < pairs; ++i) {
            const float angle = static_cast<float>(batch.position[r]) * settings.rope_frequencies[i];
            table[i] = std::cos(angle) * settings.rope_magnitude;
            table[pairs + i] = std::sin(angle) * settings.rope_magnitude;
        }
        const Rotation by{{table.data(), pairs}, {table.data() + pairs, pairs}};
        float* q = host(qkv).data + r * qkv.columns;
        float* k = q + settings.heads * dim;
        float* v = k + settings.kv_heads * dim;
        const bool by_row = settings.row_squares != nullptr;
        if (by_row) norm_row(q, k, r, settings);
        prepare_heads(q, settings.heads, settings.q_bias, by_row ? nullptr : settings.q_norm, by, settings);
        prepare_heads(k, settings.kv_heads, settings.k_bias, by_row ? nullptr : settings.k_norm, by,
                      settings);
        for (int i = 0; settings.v_bias != nullptr && i < settings.kv_heads * dim; ++i)
            v[i] += settings.v_bias[i];
        const bool store_values = cache.values != cache.keys;
        rotate_blocks(q, std::ptrdiff_t{settings.heads + (store_values ? 2 : 1) * settings.kv_heads} * dim,
                      order);
        if (cache.element != KvElement::F32)
            limit(k, (store_values ? 2 : 1) * settings.kv_heads * dim);  // the values follow the keys
        const auto store = [&](const float* head, void* to, void* scales, std::int64_t at) {
            const auto count = static_cast<std::size_t>(dim);
            switch (cache.element) {
                case KvElement::F16:
                    kernels_.to_half(head, static_cast<std::uint16_t*>(to) + at * dim, dim);
                    return;
                case KvElement::F32:
                    std::copy_n(head, dim, static_cast<float*>(to) + at * dim);
                    return;
                case KvElement::I8:
                    static_cast<float*>(scales)[at] =
                        quantize_to_i8(head, static_cast<std::int8_t*>(to) + at * dim, dim);
                    return;
                case KvElement::I4: {
                    const std::size_t group = static_cast<std::size_t>(at) * kv_groups(count);
                    quantize_to_i4(head, static_cast<std::uint8_t*>(to) + group * kKvGroupBytes,
                                   static_cast<std::uint16_t*>(scales) + 2 * group, count);
                    return;
                }
            }
        };
        for (int h = 0; h < settings.kv_heads; ++h) {
            const std::int64_t at = cached_token(batch, settings, batch.sequence[r], batch.position[r], h);
            store(k + h * dim, cache.keys, cache.key_scales, at);
            if (store_values) store(v + h * dim, cache.values, cache.value_scales, at);
        }
    });
}

}  // namespace voltpile::llm
