#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "base/half.h"
#include "llm/ops/half_limit.h"
#include "llm/ops/reference_ops.h"

namespace voltpile::llm {
namespace {

// Normalizes head h of the queries or keys of row r.
void norm_head(float* head, int r, int h, bool is_key, const QkvSettings& settings) {
    const float* weight = is_key ? settings.k_norm : settings.q_norm;
    if (weight == nullptr) return;
    double squares = 0;
    double count = settings.head_dim;
    if (settings.row_squares != nullptr) {
        squares = static_cast<double>(settings.row_squares[2 * r + (is_key ? 1 : 0)]);
        count *= is_key ? settings.norm_kv_heads : settings.norm_heads;
        weight += h * settings.head_dim;
    } else {
        for (int i = 0; i < settings.head_dim; ++i)
            squares += static_cast<double>(head[i]) * static_cast<double>(head[i]);
    }
    const double scale = 1 / std::sqrt(squares / count + static_cast<double>(settings.norm_eps));
    for (int i = 0; i < settings.head_dim; ++i)
        head[i] = static_cast<float>(static_cast<double>(head[i]) * scale * static_cast<double>(weight[i]));
}

void rotate_head(float* head, int position, const QkvSettings& settings) {
    for (int i = 0; i < settings.rope_dims / 2; ++i) {
        const bool half = settings.rope_style == RopeStyle::HalfSplit;
        float& a = head[half ? i : 2 * i];
        float& b = head[half ? i + settings.rope_dims / 2 : 2 * i + 1];
        const float angle = static_cast<float>(position) * settings.rope_frequencies[i];
        const double cosine =
            std::cos(static_cast<double>(angle)) * static_cast<double>(settings.rope_magnitude);
        const double sine =
            std::sin(static_cast<double>(angle)) * static_cast<double>(settings.rope_magnitude);
        const double x = static_cast<double>(a);
        const double y = static_cast<double>(b);
        a = static_cast<float>(x * cosine - y * sine);
        b = static_cast<float>(x * sine + y * cosine);
    }
}

// Rotates blocks of `order` numbers as KvElement says.
void rotate_blocks(float* head, int head_dim, int order) {
    const std::vector<float> before(head, head + head_dim);
    for (int i = 0; i < head_dim; ++i) {
        double sum = 0;
        for (int j = 0; j < order; ++j) {
            const bool odd = std::popcount(static_cast<unsigned>(i % order & j)) % 2 == 1;
            const auto x = static_cast<double>(before[static_cast<std::size_t>(i / order * order + j)]);
            sum += odd ? -x : x;
        }
        head[i] = static_cast<float>(sum / std::sqrt(order));
    }
}

void add_bias(float* head, const float* bias, int head_index, int head_dim) {
    if (bias == nullptr) return;
    for (int i = 0; i < head_dim; ++i) head[i] += bias[head_index * head_dim + i];
}

// Quantizes a head as KvElement::I8 and returns the scale.
float quantize_to_i8(const float* head, int head_dim, std::int8_t* to) {
    float largest = 0;
    for (int i = 0; i < head_dim; ++i) {
        if (!std::isfinite(head[i])) {
            std::fill_n(to, head_dim, std::int8_t{0});
            return std::numeric_limits<float>::quiet_NaN();
        }
        largest = std::max(largest, std::abs(head[i]));
    }
    const float scale = largest / 127;
    for (int i = 0; i < head_dim; ++i) {
        const double wanted = scale > 0 ? static_cast<double>(head[i]) / static_cast<double>(scale) : 0;
        to[i] = static_cast<std::int8_t>(std::lround(std::clamp(wanted, -127.0, 127.0)));
    }
    return scale;
}

// The memory of a head in an I4 cache.
struct I4Head {
    std::uint8_t* codes;
    std::uint16_t* scales;  // `scale` and `least` of each group

    I4Head(void* all_codes, void* all_scales, std::int64_t at, int head_dim) {
        const std::size_t group =
            static_cast<std::size_t>(at) * kv_groups(static_cast<std::size_t>(head_dim));
        codes = static_cast<std::uint8_t*>(all_codes) + group * kKvGroupBytes;
        scales = static_cast<std::uint16_t*>(all_scales) + 2 * group;
    }
    double number(std::size_t i) const {
        const std::size_t group = i / kKvGroup, j = i % kKvGroup;
        const int byte = codes[group * kKvGroupBytes + j % kKvGroupBytes];
        const double code = j < kKvGroupBytes ? byte % 16 : byte / 16;
        const auto scale = static_cast<double>(float_from_half(scales[2 * group]));
        return code * scale + static_cast<double>(float_from_half(scales[2 * group + 1]));
    }
};

// Quantizes a head as KvElement::I4.
void quantize_to_i4(std::span<const float> head, const I4Head& to) {
    constexpr auto largest_half = static_cast<double>(half_limit(true));
    for (std::size_t group = 0; group < kv_groups(head.size()); ++group) {
        const auto from = head.subspan(group * kKvGroup, std::min(kKvGroup, head.size() - group * kKvGroup));
        std::uint16_t* const scales = to.scales + 2 * group;
        std::uint8_t* const codes = to.codes + group * kKvGroupBytes;
        std::fill_n(codes, kKvGroupBytes, std::uint8_t{0});
        if (!std::ranges::all_of(from,
                                 [](float x) { return std::abs(static_cast<double>(x)) <= largest_half; })) {
            scales[0] = scales[1] = half_from_float(std::numeric_limits<float>::quiet_NaN());
            continue;
        }
        scales[1] = half_from_float(*std::ranges::min_element(from));
        const float least = float_from_half(scales[1]);
        const float wanted = std::max(0.0F, (*std::ranges::max_element(from) - least) / 15);
        scales[0] = half_from_float(wanted);
        if (float_from_half(scales[0]) > wanted) --scales[0];
        const float scale = float_from_half(scales[0]);
        for (std::size_t i = 0; i < from.size() && scale > 0; ++i) {
            const float q = std::nearbyint(std::clamp((from[i] - least) / scale, 0.0F, 15.0F));
            const auto code = static_cast<unsigned>(q);
            codes[i % kKvGroupBytes] |= static_cast<std::uint8_t>(i < kKvGroupBytes ? code : 16 * code);
        }
    }
}

}  // namespace

void ReferenceOps::rope_and_store(HiddenRows qkv, const QkvSettings& settings, const BatchView& batch,
                                  const KvLayer& cache) {
    const int dim = settings.head_dim, order = rotation_of(settings, cache);
    const auto store = [&](void* to, void* scales, float* head, int r, int kv_head) {
        rotate_blocks(head, dim, order);
        const std::int64_t at = cached_token(batch, settings, batch.sequence[r], batch.position[r], kv_head);
        if (cache.element == KvElement::F32) {
            std::copy_n(head, dim, static_cast<float*>(to) + at * dim);
            return;
        }
        limit(head, dim);
        if (cache.element == KvElement::F16)
            std::transform(head, head + dim, static_cast<std::uint16_t*>(to) + at * dim, half_from_float);
        else if (cache.element == KvElement::I8)
            static_cast<float*>(scales)[at] =
                quantize_to_i8(head, dim, static_cast<std::int8_t*>(to) + at * dim);
        else
            quantize_to_i4({head, static_cast<std::size_t>(dim)}, {to, scales, at, dim});
    };
    for (int r = 0; r < batch.rows; ++r) {
        if (batch.sequence[r] < 0) continue;
        float* q = host(qkv).data + r * qkv.columns;
        float* k = q + settings.heads * dim;
        float* v = k + settings.kv_heads * dim;
        for (int h = 0; h < settings.heads; ++h) {
            add_bias(q + h * dim, settings.q_bias, h, dim);
            norm_head(q + h * dim, r, h, false, settings);
            rotate_head(q + h * dim, batch.position[r], settings);
            rotate_blocks(q + h * dim, dim, order);
        }
        for (int h = 0; h < settings.kv_heads; ++h) {
            add_bias(k + h * dim, settings.k_bias, h, dim);
            norm_head(k + h * dim, r, h, true, settings);
            rotate_head(k + h * dim, batch.position[r], settings);
            add_bias(v + h * dim, settings.v_bias, h, dim);
            store(cache.keys, cache.key_scales, k + h * dim, r, h);
            if (cache.values != cache.keys) store(cache.values, cache.value_scales, v + h * dim, r, h);
        }
    }
}

void ReferenceOps::attention(HiddenRows qkv, const QkvSettings& settings, const BatchView& batch,
                             const KvLayer& cache, const AttentionSettings& attention, HiddenRows out) {
    const int window = attention.window;
    const auto capped = [cap = static_cast<double>(attention.soft_cap)](double score) {
        return cap > 0 ? cap * std::tanh(score / cap) : score;
    };
    const int dim = settings.head_dim;
    const int group = settings.heads / settings.kv_heads;
    for (int r = 0; r < batch.rows; ++r) {
        for (int h = 0; h < settings.heads; ++h) {
            float* to = host(out).data + r * out.columns + h * dim;
            std::fill_n(to, dim, 0.0F);
            if (batch.sequence[r] < 0) continue;
            const float* q = host(qkv).data + r * qkv.columns + h * dim;
            const int last = batch.position[r];
            const int first = window > 0 ? std::max(0, last - window + 1) : 0;
            const auto element = [&](void* of, void* scales, int position, int i) {
                const std::int64_t at = cached_token(batch, settings, batch.sequence[r], position, h / group);
                if (cache.element == KvElement::I8)
                    return static_cast<double>(static_cast<const std::int8_t*>(of)[at * dim + i]) *
                           static_cast<double>(static_cast<const float*>(scales)[at]);
                if (cache.element == KvElement::F32)
                    return static_cast<double>(static_cast<const float*>(of)[at * dim + i]);
                if (cache.element == KvElement::I4)
                    return I4Head(of, scales, at, dim).number(static_cast<std::size_t>(i));
                return static_cast<double>(
                    float_from_half(static_cast<const std::uint16_t*>(of)[at * dim + i]));
            };
            std::vector<double> score;
            for (int p = first; p <= last; ++p) {
                double dot = 0;
                for (int i = 0; i < dim; ++i)
                    dot += static_cast<double>(q[i]) * element(cache.keys, cache.key_scales, p, i);
                score.push_back(capped(dot * static_cast<double>(attention.scale)));
            }
            double largest = *std::max_element(score.begin(), score.end()), total = 0;
            if (attention.sinks != nullptr) {
                const auto sink = static_cast<double>(attention.sinks[h]);
                largest = std::max(largest, sink);
                total = std::exp(sink - largest);
            }
            for (double& s : score) total += s = std::exp(s - largest);
            for (int i = 0; i < dim; ++i) {
                double sum = 0;
                for (int p = first; p <= last; ++p)
                    sum += score[static_cast<std::size_t>(p - first)] *
                           element(cache.values, cache.value_scales, p, i);
                to[i] = static_cast<float>(sum / total);
            }
            rotate_blocks(to, dim, rotation_of(settings, cache));
        }
    }
}

}  // namespace voltpile::llm
