#include <algorithm>
#include <cmath>
#include <limits>

#include "base/half.h"
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

void add_bias(float* head, const float* bias, int head_index, int head_dim) {
    if (bias == nullptr) return;
    for (int i = 0; i < head_dim; ++i) head[i] += bias[head_index * head_dim + i];
}

// Quantizes as KvElement::I8 and returns the scale.
float quantize(const float* head, int head_dim, std::int8_t* to) {
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

}  // namespace

void ReferenceOps::rope_and_store(HiddenRows qkv, const QkvSettings& settings, const BatchView& batch,
                                  const KvLayer& cache) {
    const int dim = settings.head_dim;
    const auto store = [&](void* to, float* scales, float* head, int r, int kv_head) {
        limit(head, dim);
        const std::int64_t at = cached_token(batch, settings, batch.sequence[r], batch.position[r], kv_head);
        if (cache.element == KvElement::F16)
            std::transform(head, head + dim, static_cast<std::uint16_t*>(to) + at * dim, half_from_float);
        else
            scales[at] = quantize(head, dim, static_cast<std::int8_t*>(to) + at * dim);
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
            const auto element = [&](const void* of, const float* scales, int position, int i) {
                const std::int64_t at = cached_token(batch, settings, batch.sequence[r], position, h / group);
                if (cache.element == KvElement::I8)
                    return static_cast<double>(static_cast<const std::int8_t*>(of)[at * dim + i]) *
                           static_cast<double>(scales[at]);
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
        }
    }
}

}  // namespace voltpile::llm
