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

// The key or value of a token and KV head, at an index of the cache: load() and number() times `factor`.
// data, scales: at index 0. load(i, v) returns numbers i + v to i + v + lane_count - 1; i is a multiple of
// `step`, and v one of lane_count below it.
template <KvElement element>
struct CachedHead;
template <>
struct CachedHead<KvElement::F16> {
    const std::uint16_t* halves;
    static constexpr float factor = 1;
    static constexpr int step = lane_count;
    VOLTPILE_INLINE CachedHead(const void* data, const void*, std::int64_t at, int head_dim)
        : halves(static_cast<const std::uint16_t*>(data) + at * head_dim) {}
    VOLTPILE_INLINE Lanes load(int i, int) const { return load_halves(halves + i); }
    VOLTPILE_INLINE float number(int i) const {
        return half_at(reinterpret_cast<const std::uint8_t*>(halves + i));
    }
};
template <>
struct CachedHead<KvElement::I8> {
    const std::int8_t* quants;
    float factor;
    static constexpr int step = lane_count;
    VOLTPILE_INLINE CachedHead(const void* data, const void* scales, std::int64_t at, int head_dim)
        : quants(static_cast<const std::int8_t*>(data) + at * head_dim),
          factor(static_cast<const float*>(scales)[at]) {}
    VOLTPILE_INLINE Lanes load(int i, int) const {
        return to_float(load_signed_bytes(reinterpret_cast<const std::uint8_t*>(quants + i)));
    }
    VOLTPILE_INLINE float number(int i) const { return quants[i]; }
};
template <>
struct CachedHead<KvElement::I4> {
    const std::uint8_t* codes;
    const std::uint8_t* scales;
    static constexpr float factor = 1;
    static constexpr int step = kKvGroup;
    VOLTPILE_INLINE CachedHead(const void* data, const void* all_scales, std::int64_t at, int head_dim) {
        const std::int64_t first =
            at * static_cast<std::int64_t>(kv_groups(static_cast<std::size_t>(head_dim)));
        codes = static_cast<const std::uint8_t*>(data) + first * step / 2;
        scales = static_cast<const std::uint8_t*>(all_scales) + first * 4;
    }
    VOLTPILE_INLINE Lanes load(int i, int v) const {
        const std::uint8_t* scale = scales + i / step * 4;
        return fma(to_float(load_nibbles(codes + i / 2, v)), Lanes(half_at(scale)),
                   Lanes(half_at(scale + 2)));
    }
    VOLTPILE_INLINE float number(int i) const {
        const std::uint8_t* scale = scales + i / step * 4;
        const int in_group = i % step, byte = codes[i / step * step / 2 + in_group % (step / 2)];
        const int code = in_group < step / 2 ? byte & 15 : byte >> 4;
        return static_cast<float>(code) * half_at(scale) + half_at(scale + 2);
    }
};

// Calls body(i, lanes) for numbers i to i + lane_count - 1 of a head with `count` numbers, in order. Returns
// the index of the first of the fewer than lane_count numbers that are left.
template <class Head, class Body>
VOLTPILE_INLINE int for_lanes(const Head& head, int count, const Body& body) {
    int i = 0;
    for (; i + Head::step <= count; i += Head::step) {
#pragma GCC unroll 8
        for (int v = 0; v < Head::step; v += lane_count) body(i + v, head.load(i, v));
    }
    if constexpr (Head::step > lane_count) {
        const int begin = i;
        for (; i + lane_count <= count; i += lane_count) body(i, head.load(begin, i - begin));
    }
    return i;
}

template <class Head>
VOLTPILE_INLINE float dot(const float* q, const Head& k, int count) {
    Lanes partial = {};
    int i = for_lanes(
        k, count, [&](int at, Lanes lanes) __attribute__((always_inline)) {
            partial = fma(Lanes::load(q + at), lanes, partial);
        });
    float total = sum(partial);
    for (; i < count; ++i) total += q[i] * k.number(i);
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

template <KvElement element>
void attention_over(const AttentionRow& row) {
    const int count = row.last - row.first + 1;
    const int stride = (count + lane_count - 1) / lane_count * lane_count;
    const auto token = [&](int position) {
        return row.pages[position / kv_page_tokens] * row.page_stride + position % kv_page_tokens;
    };
    for (int p = 0; p < count; ++p) {
        const CachedHead<element> k(row.keys, row.key_scales, token(row.first + p), row.head_dim);
        const float scale = row.scale * k.factor;
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
        const CachedHead<element> values(row.values, row.value_scales, token(row.first + p), row.head_dim);
        const auto add = [&](int at, Lanes lanes) __attribute__((always_inline)) {
            const Lanes v = lanes * values.factor;
            for (int g = 0; g < row.group; ++g) {
                float* out = row.out + g * row.head_dim + at;
                fma(v, Lanes(row.scores[g * stride + p]), Lanes::load(out)).store(out);
            }
        };
        for (int i = for_lanes(values, row.head_dim, add); i < row.head_dim; ++i) {
            for (int g = 0; g < row.group; ++g)
                row.out[g * row.head_dim + i] +=
                    values.number(i) * values.factor * row.scores[g * stride + p];
        }
    }
}

void attention(const AttentionRow& row) {
    switch (row.element) {
        case KvElement::F16:
            return attention_over<KvElement::F16>(row);
        case KvElement::I8:
            return attention_over<KvElement::I8>(row);
        case KvElement::I4:
            return attention_over<KvElement::I4>(row);
    }
}

}  // namespace
}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::llm
