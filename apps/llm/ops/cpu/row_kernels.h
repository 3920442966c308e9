// The kernels of CpuOps that work on one row: RMS norm, gate, conversion to fp16.
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

}  // namespace
}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::llm
