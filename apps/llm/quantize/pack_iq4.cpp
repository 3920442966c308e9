#include "llm/quantize/pack_iq4.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>

#include "base/half.h"
#include "llm/ops/codebooks/iq4_values.h"

namespace voltpile::llm {
namespace {

constexpr int kLevels = 16, kPart = 32, kParts = 8;
constexpr int kLeastScale = -32, kMostScale = 31;  // of a part of IQ4_XS

constexpr float level(int q) {
    return static_cast<float>(iq4_values[q]);
}

float rounded_half(float value) {
    return float_from_half(half_from_float(value));
}

// Returns of(0) to of(14), one for each step from a level to the next.
template <class T, class Of>
constexpr std::array<T, kLevels - 1> per_step(Of of) {
    std::array<T, kLevels - 1> all{};
    for (int k = 0; k + 1 < kLevels; ++k) all[static_cast<std::size_t>(k)] = of(k);
    return all;
}
constexpr auto kMiddles = per_step<float>([](int k) { return (level(k) + level(k + 1)) / 2; });
constexpr auto kSteps = per_step<float>([](int k) { return level(k + 1) - level(k); });
constexpr auto kIndexSteps = per_step<int>([](int) { return 1; });

// Climbs from the lowest level to the one nearest to x / scale, and returns `first` plus the steps on the
// way, for each of a part's weights. scale may be negative, but not 0. Without branches, so that compilers
// vectorize it.
template <class T>
std::array<T, kPart> climb(const float* x, float scale, T first, const std::array<T, kLevels - 1>& steps) {
    std::array<T, kPart> sums{};
    for (int i = 0; i < kPart; ++i) {
        const float y = x[i] / scale;
        T sum = first;
        for (std::size_t k = 0; k < steps.size(); ++k) sum += y > kMiddles[k] ? steps[k] : T(0);
        sums[static_cast<std::size_t>(i)] = sum;
    }
    return sums;
}

struct Part {
    const float* x;
    const float* importance;
};

// sum w (x - scale level)^2 with the nearest levels. best: the scale with the least error for these levels.
double error_of(const Part& part, float scale, float* best = nullptr) {
    double error = 0, products = 0, squares = 0;
    std::array<float, kPart> levels{};
    if (scale != 0) levels = climb(part.x, scale, level(0), kSteps);
    for (int i = 0; i < kPart; ++i) {
        const double w = static_cast<double>(part.importance[i]), x = static_cast<double>(part.x[i]);
        const auto v = static_cast<double>(levels[static_cast<std::size_t>(i)]);
        const double difference = x - static_cast<double>(scale) * v;
        error += w * difference * difference;
        products += w * x * v;
        squares += w * v * v;
    }
    if (best != nullptr) *best = squares > 0 ? static_cast<float>(products / squares) : scale;
    return error;
}

// Returns the scale with nearly the least error: tries scales that map the largest weight near one of the
// outermost levels, of either sign, and refines each by the exact minimum for its levels.
float fit_levels(const Part& part) {
    constexpr std::array<float, 8> kTargets = {-135, -127, -119, -110, 96, 104, 113, 121};
    constexpr int kRounds = 2;
    float largest = 0;
    for (int i = 0; i < kPart; ++i)
        if (std::abs(part.x[i]) > std::abs(largest)) largest = part.x[i];
    if (largest == 0) return 0;
    float best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (const float target : kTargets) {
        float scale = largest / target;
        for (int round = 0; round <= kRounds && scale != 0; ++round) {
            float refined = scale;
            const double error = error_of(part, scale, &refined);
            if (error < least) {
                least = error;
                best = scale;
            }
            scale = refined;
        }
    }
    return best;
}

void put_scale(float scale, std::uint8_t* out) {
    const std::uint16_t bits = half_from_float(scale);
    std::memcpy(out, &bits, sizeof bits);
}

// Weight i has the low nibble of byte i for i < 16, and the high one of byte i - 16 above. A scale of 0 takes
// level 0 of all, which multiplies to 0.
void put_levels(const float* x, float scale, std::uint8_t* out) {
    std::array<int, kPart> q{};
    if (scale != 0) q = climb(x, scale, 0, kIndexSteps);
    for (std::size_t i = 0; i < kPart / 2; ++i)
        out[i] = static_cast<std::uint8_t>(q[i] | q[i + kPart / 2] << 4);
}

int part_scale(float scale, float d) {
    if (d == 0) return 0;
    return static_cast<int>(
        std::clamp(std::round(scale / d), static_cast<float>(kLeastScale), static_cast<float>(kMostScale)));
}

}  // namespace

void pack_iq4_nl(const float* x, const float* importance, std::uint8_t* out) {
    const float d = rounded_half(fit_levels({x, importance}));
    put_scale(d, out);
    put_levels(x, d, out + 2);
}

// w = (d (s - 32)) level: the largest scale of a part becomes one end of the range of s, or a little less.
void pack_iq4_xs(const float* x, const float* importance, std::uint8_t* out) {
    std::array<float, kParts> scales{};
    float largest = 0;
    const auto part = [&](std::ptrdiff_t p) { return Part{x + kPart * p, importance + kPart * p}; };
    for (int p = 0; p < kParts; ++p) {
        float& scale = scales[static_cast<std::size_t>(p)];
        scale = fit_levels(part(p));
        if (std::abs(scale) > std::abs(largest)) largest = scale;
    }
    float d = 0;
    double least = std::numeric_limits<double>::infinity();
    for (const float end : {-32.0F, -31.0F, -30.0F, 29.0F, 30.0F, 31.0F}) {
        const float candidate = rounded_half(largest / end);
        double error = 0;
        for (int p = 0; p < kParts; ++p) {
            const int s = part_scale(scales[static_cast<std::size_t>(p)], candidate);
            error += error_of(part(p), candidate * static_cast<float>(s));
        }
        if (error >= least) continue;
        least = error;
        d = candidate;
    }
    put_scale(d, out);
    unsigned high = 0;
    std::memset(out + 4, 0, 4);
    for (int p = 0; p < kParts; ++p) {
        const int s = part_scale(scales[static_cast<std::size_t>(p)], d);
        const auto stored = static_cast<unsigned>(s - kLeastScale);
        out[4 + p / 2] = static_cast<std::uint8_t>(out[4 + p / 2] | (stored & 15) << p % 2 * 4);
        high |= (stored >> 4) << 2 * p;
        put_levels(part(p).x, d * static_cast<float>(s), out + 8 + 16 * static_cast<std::ptrdiff_t>(p));
    }
    const auto bits = static_cast<std::uint16_t>(high);
    std::memcpy(out + 2, &bits, sizeof bits);
}

}  // namespace voltpile::llm
