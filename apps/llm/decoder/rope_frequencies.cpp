#include "llm/decoder/rope_frequencies.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace voltpile::llm {
namespace {

// Divides low frequencies by `factor`, keeps high ones, and interpolates between them.
double llama3_scaled(double frequency, const RopeScaling& scaling) {
    const auto original = static_cast<double>(scaling.original_context);
    const double waves = original * frequency / (2 * std::numbers::pi);  // in the original context
    const double share = (waves - scaling.low_frequency_factor) /
                         (scaling.high_frequency_factor - scaling.low_frequency_factor);
    const double kept = std::clamp(share, 0.0, 1.0);
    return kept * frequency + (1 - kept) * frequency / scaling.factor;
}

// Which pair makes `rotations` in the original context: the solution of f_i * original = 2 pi rotations.
double yarn_pair(double rotations, const ModelConfig& config) {
    const auto original = static_cast<double>(config.rope_scaling.original_context);
    return static_cast<double>(config.rope_dims) * std::log(original / (rotations * 2 * std::numbers::pi)) /
           (2 * std::log(config.rope_theta));
}

double yarn_scaled(double frequency, std::int64_t pair, const ModelConfig& config) {
    const RopeScaling& scaling = config.rope_scaling;
    double low = yarn_pair(scaling.beta_fast, config), high = yarn_pair(scaling.beta_slow, config);
    if (scaling.truncated) {
        low = std::floor(low);
        high = std::ceil(high);
    }
    low = std::max(0.0, low);
    high = std::min(static_cast<double>(config.rope_dims - 1), high);
    if (low == high) high += 0.001;  // as in transformers
    const double slowed = std::clamp((static_cast<double>(pair) - low) / (high - low), 0.0, 1.0);
    return slowed * frequency / scaling.factor + (1 - slowed) * frequency;
}

double scaled(double frequency, std::int64_t pair, const ModelConfig& config) {
    switch (config.rope_scaling.kind) {
        case RopeScalingKind::None:
        case RopeScalingKind::LongRope:
            break;
        case RopeScalingKind::Linear:
            return frequency / config.rope_scaling.factor;
        case RopeScalingKind::Llama3:
            return llama3_scaled(frequency, config.rope_scaling);
        case RopeScalingKind::Yarn:
            return yarn_scaled(frequency, pair, config);
    }
    return frequency;
}

}  // namespace

RopeFrequencies rope_frequencies(const ModelConfig& config, std::span<const float> factors,
                                 std::int64_t context) {
    RopeFrequencies rope;
    const RopeScaling& scaling = config.rope_scaling;
    const bool longer = context > scaling.original_context;
    const std::vector<double>& divisors = longer ? scaling.long_factors : scaling.short_factors;
    for (std::int64_t i = 0; i < config.rope_dims / 2; ++i) {
        const double plain =
            std::pow(config.rope_theta, -2 * static_cast<double>(i) / static_cast<double>(config.rope_dims));
        const auto at = static_cast<std::size_t>(i);
        double factor = factors.empty() ? 1 : static_cast<double>(factors[at]);
        if (scaling.kind == RopeScalingKind::LongRope) factor *= divisors[at];
        rope.frequencies.push_back(static_cast<float>(scaled(plain, i, config) / factor));
    }
    rope.magnitude = static_cast<float>(rope_magnitude(scaling));
    return rope;
}

RopeFrequencies window_rope_frequencies(const ModelConfig& config) {
    ModelConfig plain = config;
    plain.rope_theta = config.window_rope_theta;
    plain.rope_scaling = {};
    return rope_frequencies(plain, {}, config.context);
}

}  // namespace voltpile::llm
