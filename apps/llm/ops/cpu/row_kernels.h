// The kernels of CpuOps that work on one row: RMS norm, gate, attention, conversion to fp16.
#pragma once

#include "llm/ops/batch.h"
#include "llm/ops/cpu/kernels.h"
#include "llm/ops/cpu/lanes.h"

namespace voltpile::llm {
inline namespace VOLTPILE_TARGET {
namespace {

float add_rms_norm(float* x, const float* delta, const float* bias, const float* weight, float eps,
                   std::int64_t columns, float* out) {
    Lanes squares = {};
    std::int64_t c = 0;
    for (; c + lane_count <= columns; c += lane_count) {
        Lanes lanes = Lanes::load(x + c);
        if (delta != nullptr) {
            lanes += Lanes::load(delta + c);
            if (bias != nullptr) lanes += Lanes::load(bias + c);
            lanes.store(x + c);
        }
        squares = fma(lanes, lanes, squares);
    }
    float total = sum(squares);
    for (; c < columns; ++c) {
        if (delta != nullptr) x[c] += delta[c];
        if (bias != nullptr) x[c] += bias[c];
        total += x[c] * x[c];
    }
    const float mean = total / static_cast<float>(columns);
    if (weight == nullptr) {
        if (out != x) __builtin_memcpy(out, x, static_cast<std::size_t>(columns) * sizeof(float));
        return mean;
    }
    const float scale = 1 / __builtin_sqrtf(mean + eps);
    for (c = 0; c + lane_count <= columns; c += lane_count)
        (Lanes::load(x + c) * scale * Lanes::load(weight + c)).store(out + c);
    for (; c < columns; ++c) out[c] = x[c] * scale * weight[c];
    return mean;
}

template <Activation activation>
VOLTPILE_INLINE Lanes gated(Lanes gate, Lanes up) {
    if constexpr (activation == Activation::ClampedSwiglu) {
        gate = smaller(Lanes(kSwigluLimit), gate);  // in this order: NaN stays NaN
        up = smaller(Lanes(kSwigluLimit), larger(Lanes(-kSwigluLimit), up)) + 1.0F;
        return gate / (1.0F + exponential(gate * -kSwigluSlope)) * up;
    }
    Lanes exponent = gate;
    if constexpr (activation == Activation::GeluTanh) {
        // (1 + tanh(y)) / 2 = 1 / (1 + exp(-2 y)), with 2 y = 2 sqrt(2 / pi) (g + 0.044715 g^3).
        exponent = gate * fma(gate * gate, Lanes(1.5957691F * 0.044715F), Lanes(1.5957691F));
    }
    return gate / (1.0F + exponential(-exponent)) * up;
}

template <Activation activation>
void gate_by(float* values, const float* up, std::int64_t count) {
    std::int64_t i = 0;
    for (; i + lane_count <= count; i += lane_count)
        gated<activation>(Lanes::load(values + i), Lanes::load(up + i)).store(values + i);
    if (i < count) {
        float rest[2][lane_count] = {};
        __builtin_memcpy(rest[0], values + i, static_cast<std::size_t>(count - i) * sizeof(float));
        __builtin_memcpy(rest[1], up + i, static_cast<std::size_t>(count - i) * sizeof(float));
        gated<activation>(Lanes::load(rest[0]), Lanes::load(rest[1])).store(rest[0]);
        __builtin_memcpy(values + i, rest[0], static_cast<std::size_t>(count - i) * sizeof(float));
    }
}

void gate(Activation activation, float* values, const float* up, std::int64_t count) {
    if (activation == Activation::Silu) return gate_by<Activation::Silu>(values, up, count);
    if (activation == Activation::GeluTanh) return gate_by<Activation::GeluTanh>(values, up, count);
    gate_by<Activation::ClampedSwiglu>(values, up, count);
}

// tanh(z) = 1 - 2 / (1 + exp(2 z)). The absolute error, 1e-7 * cap, is far below what a score or logit needs.
VOLTPILE_INLINE Lanes soft_capped(Lanes value, float cap) {
    return cap - 2 * cap / (1.0F + exponential(value * (2 / cap)));
}

void soft_cap(float* values, std::int64_t count, float cap) {
    std::int64_t i = 0;
    for (; i + lane_count <= count; i += lane_count)
        soft_capped(Lanes::load(values + i), cap).store(values + i);
    if (i < count) {
        float rest[lane_count] = {};
        __builtin_memcpy(rest, values + i, static_cast<std::size_t>(count - i) * sizeof(float));
        soft_capped(Lanes::load(rest), cap).store(rest);
        __builtin_memcpy(values + i, rest, static_cast<std::size_t>(count - i) * sizeof(float));
    }
}

void to_half(const float* from, std::uint16_t* to, std::int64_t count) {
    std::int64_t i = 0;
    for (; i + lane_count <= count; i += lane_count) store_halves(to + i, Lanes::load(from + i));
    if (i < count) {
        float rest[lane_count] = {};
        std::uint16_t halves[lane_count];
        __builtin_memcpy(rest, from + i, static_cast<std::size_t>(count - i) * sizeof(float));
        store_halves(halves, Lanes::load(rest));
        __builtin_memcpy(to + i, halves, static_cast<std::size_t>(count - i) * sizeof(std::uint16_t));
    }
}

VOLTPILE_INLINE float half_number(const std::uint16_t* from) {
    return half_at(reinterpret_cast<const std::uint8_t*>(from));
}

VOLTPILE_INLINE Lanes load_cached(const std::uint16_t* from) {
    return load_halves(from);
}
VOLTPILE_INLINE Lanes load_cached(const std::int8_t* from) {
    return to_float(load_signed_bytes(reinterpret_cast<const std::uint8_t*>(from)));
}
VOLTPILE_INLINE float cached_number(const std::uint16_t* from) {
    return half_number(from);
}
VOLTPILE_INLINE float cached_number(const std::int8_t* from) {
    return *from;
}

template <class Cached>
VOLTPILE_INLINE float dot(const float* q, const Cached* k, int count) {
    Lanes partial = {};
    int i = 0;
    for (; i + lane_count <= count; i += lane_count)
        partial = fma(Lanes::load(q + i), load_cached(k + i), partial);
    float total = sum(partial);
    for (; i < count; ++i) total += q[i] * cached_number(k + i);
    return total;
}

// Replaces scores by exp(score - max) and returns their sum, with that of the sink (nullptr: none). Pads
// `scores` to whole registers.
VOLTPILE_INLINE float soften(float* scores, int count, const float* sink) {
    const int padded = (count + lane_count - 1) / lane_count * lane_count;
    for (int i = count; i < padded; ++i) scores[i] = -__builtin_inff();
    Lanes largest = Lanes::load(scores);
    for (int i = lane_count; i < padded; i += lane_count) largest = larger(Lanes::load(scores + i), largest);
    float top = largest.lane(0);
    for (int lane = 1; lane < lane_count; ++lane) top = largest.lane(lane) > top ? largest.lane(lane) : top;
    if (sink != nullptr && *sink > top) top = *sink;
    Lanes total = {};
    for (int i = 0; i < padded; i += lane_count) {
        Lanes weight = exponential(Lanes::load(scores + i) - top);
        if (i + lane_count > count) {
            for (int lane = 0; lane < lane_count; ++lane) {
                if (i + lane >= count) weight.set_lane(lane, 0);
            }
        }
        weight.store(scores + i);
        total += weight;
    }
    return sum(total) + (sink != nullptr ? exponential(Lanes(*sink - top)).lane(0) : 0);
}

// Cached: std::uint16_t for fp16, or std::int8_t with scales.
template <class Cached>
void attention_over(const AttentionRow& row) {
    const int count = row.last - row.first + 1;
    const int stride = (count + lane_count - 1) / lane_count * lane_count;
    const auto token = [&](int position) {
        return row.pages[position / kv_page_tokens] * row.page_stride + position % kv_page_tokens;
    };
    const auto scale_of = [](const float* scales, std::int64_t at) {
        return scales == nullptr ? 1 : scales[at];
    };
    for (int p = 0; p < count; ++p) {
        const std::int64_t at = token(row.first + p);
        const Cached* k = static_cast<const Cached*>(row.keys) + at * row.head_dim;
        const float scale = row.scale * scale_of(row.key_scales, at);
        for (int g = 0; g < row.group; ++g)
            row.scores[g * stride + p] = dot(row.q + g * row.head_dim, k, row.head_dim) * scale;
    }
    for (int i = 0; i < row.group * row.head_dim; ++i) row.out[i] = 0;
    for (int g = 0; g < row.group; ++g) {
        float* weights = row.scores + g * stride;
        if (row.soft_cap > 0) soft_cap(weights, count, row.soft_cap);
        const float scale = 1 / soften(weights, count, row.sinks == nullptr ? nullptr : row.sinks + g);
        for (int p = 0; p < count; ++p) weights[p] *= scale;
    }
    for (int p = 0; p < count; ++p) {
        const std::int64_t at = token(row.first + p);
        const Cached* values = static_cast<const Cached*>(row.values) + at * row.head_dim;
        const float scale = scale_of(row.value_scales, at);
        int i = 0;
        for (; i + lane_count <= row.head_dim; i += lane_count) {
            const Lanes v = load_cached(values + i) * scale;
            for (int g = 0; g < row.group; ++g) {
                float* out = row.out + g * row.head_dim + i;
                fma(v, Lanes(row.scores[g * stride + p]), Lanes::load(out)).store(out);
            }
        }
        for (; i < row.head_dim; ++i) {
            for (int g = 0; g < row.group; ++g)
                row.out[g * row.head_dim + i] +=
                    cached_number(values + i) * scale * row.scores[g * stride + p];
        }
    }
}

void attention(const AttentionRow& row) {
    if (row.element == KvElement::F16) return attention_over<std::uint16_t>(row);
    attention_over<std::int8_t>(row);
}

}  // namespace
}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::llm
