#include "llm/ops/reference_ops.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "llm/ops/dequantize.h"
#include "llm/ops/sampling_host.h"

namespace voltpile::llm {
namespace {

// Calls store(r, j, product) for all rows r of x and all rows j of the matrix. Adds in the order of columns,
// for several rows of x at once, whose sums do not wait for each other.
template <class Store>
void products(FloatRows x, const WeightMatrix& weight, const Store& store) {
    constexpr std::int64_t at_once = 8;
    const std::int64_t columns = weight.columns();
    std::vector<float> w(static_cast<std::size_t>(weight.rows() * columns));
    for (std::int64_t j = 0; j < weight.rows(); ++j)
        dequantize_row(weight.format(), host(weight).row(j), columns, w.data() + j * columns);
    std::vector<double> some(static_cast<std::size_t>(at_once * columns));  // rows of x, column by column
    for (std::int64_t first = 0; first < x.rows; first += at_once) {
        const std::int64_t count = std::min(at_once, x.rows - first);
        for (std::int64_t k = 0; k < count; ++k)
            for (std::int64_t c = 0; c < columns; ++c)
                some[static_cast<std::size_t>(c * at_once + k)] =
                    static_cast<double>(x.data[(first + k) * columns + c]);
        for (std::int64_t j = 0; j < weight.rows(); ++j) {
            double sum[at_once] = {};
            for (std::int64_t c = 0; c < columns; ++c) {
                const double* const of_column = some.data() + c * at_once;
                const auto factor = static_cast<double>(w[static_cast<std::size_t>(j * columns + c)]);
                for (std::int64_t k = 0; k < at_once; ++k) sum[k] += of_column[k] * factor;
            }
            for (std::int64_t k = 0; k < count; ++k) store(first + k, j, sum[k]);
        }
    }
}

}  // namespace

double gated_reference(Activation activation, double g, double u) {
    constexpr double limit = kSwigluLimit, slope = kSwigluSlope;
    switch (activation) {
        case Activation::Silu:
            return g / (1 + std::exp(-g)) * u;
        case Activation::GeluTanh:
            return g / 2 * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (g + 0.044715 * g * g * g))) * u;
        case Activation::ClampedSwiglu:
            break;
    }
    g = std::min(g, limit);
    return g / (1 + std::exp(-slope * g)) * (std::clamp(u, -limit, limit) + 1);
}

void ReferenceOps::add_rms_norm(FloatRows x, AddedRows delta, const float* weight, float eps, HiddenRows out,
                                SentinelPlace place) {
    for (std::int64_t r = 0; r < x.rows; ++r) {
        float* row = x.data + r * x.columns;
        double squares = 0;
        for (std::int64_t c = 0; c < x.columns; ++c) {
            if (delta.data != nullptr) row[c] += delta.data[r * x.columns + c];
            if (delta.bias != nullptr) row[c] += delta.bias[c];
            squares += static_cast<double>(row[c]) * static_cast<double>(row[c]);
        }
        const double mean = squares / static_cast<double>(x.columns);
        if (!std::isfinite(static_cast<float>(mean))) trip(place, static_cast<int>(r));
        const double scale = 1 / std::sqrt(mean + static_cast<double>(eps));
        for (std::int64_t c = 0; c < x.columns; ++c) {
            const double factor = weight == nullptr ? 1 : scale * static_cast<double>(weight[c]);
            host(out).data[r * x.columns + c] = static_cast<float>(static_cast<double>(row[c]) * factor);
        }
    }
}

void ReferenceOps::rms_norm(FloatRows x, const float* weight, float eps, SentinelPlace place) {
    add_rms_norm(x, {}, weight, eps, {x.data, x.rows, x.columns}, place);
}

void ReferenceOps::matmul(HiddenRows x, std::span<const WeightMatrix* const> weights, HiddenRows out) {
    std::int64_t begin = 0;
    for (const WeightMatrix* weight : weights) {
        products(host(x), *weight, [&](std::int64_t r, std::int64_t j, double sum) {
            host(out).data[r * out.columns + begin + j] = static_cast<float>(sum);
        });
        begin += weight->rows();
    }
}

void ReferenceOps::matmul(HiddenRows x, const WeightMatrix& weight, FloatRows out) {
    products(host(x), weight, [&](std::int64_t r, std::int64_t j, double sum) {
        out.data[r * out.columns + j] = static_cast<float>(sum);
    });
}

void ReferenceOps::add_matmul(HiddenRows x, const WeightMatrix& weight, const float* bias, FloatRows out) {
    products(host(x), weight, [&](std::int64_t r, std::int64_t j, double sum) {
        // Rounded like matmul, and added like a norm's delta.
        float& to = out.data[r * out.columns + j];
        to += static_cast<float>(sum);
        if (bias != nullptr) to += bias[j];
    });
}

void ReferenceOps::gated_matmul(HiddenRows x, const WeightMatrix& gate, const WeightMatrix& up,
                                Activation activation, HiddenRows out) {
    const FloatRows to = host(out);
    std::vector<double> g(static_cast<std::size_t>(to.rows * to.columns));
    const auto at = [&](std::int64_t r, std::int64_t j) {
        return static_cast<std::size_t>(r * to.columns + j);
    };
    products(host(x), gate, [&](std::int64_t r, std::int64_t j, double sum) { g[at(r, j)] = sum; });
    products(host(x), up, [&](std::int64_t r, std::int64_t j, double sum) {
        to.data[at(r, j)] = static_cast<float>(gated_reference(activation, g[at(r, j)], sum));
    });
}

void ReferenceOps::gate(HiddenRows x, Activation activation, HiddenRows out) {
    for (std::int64_t r = 0; r < out.rows; ++r)
        for (std::int64_t j = 0; j < out.columns; ++j) {
            const float* const from = host(x).data + r * x.columns + j;
            host(out).data[r * out.columns + j] = static_cast<float>(gated_reference(
                activation, static_cast<double>(from[0]), static_cast<double>(from[out.columns])));
        }
}

void ReferenceOps::sum_squares(HiddenRows qkv, const QkvSettings& settings, FloatRows sums) {
    const int q_columns = settings.heads * settings.head_dim,
              k_columns = settings.kv_heads * settings.head_dim;
    for (std::int64_t r = 0; r < qkv.rows; ++r) {
        const float* row = host(qkv).data + r * qkv.columns;
        double q = 0, k = 0;
        for (int c = 0; c < q_columns; ++c) q += static_cast<double>(row[c]) * static_cast<double>(row[c]);
        for (int c = q_columns; c < q_columns + k_columns; ++c)
            k += static_cast<double>(row[c]) * static_cast<double>(row[c]);
        sums.data[2 * r] = static_cast<float>(q);
        sums.data[2 * r + 1] = static_cast<float>(k);
    }
}

void ReferenceOps::soft_cap(FloatRows x, float cap) {
    const auto c = static_cast<double>(cap);
    for (std::int64_t i = 0; i < x.rows * x.columns; ++i)
        x.data[i] = static_cast<float>(c * std::tanh(static_cast<double>(x.data[i]) / c));
}

void ReferenceOps::sample(FloatRows logits, const SamplingView& sampling, std::int32_t* tokens,
                          float* log_probability) {
    for (std::int64_t r = 0; r < logits.rows; ++r) {
        const SampledToken sampled = sample_row(
            {logits.data + r * logits.columns, static_cast<std::size_t>(logits.columns)}, sampling, r);
        tokens[r] = sampled.token;
        if (log_probability != nullptr) log_probability[r] = sampled.log_probability;
    }
}

void ReferenceOps::top_log_probabilities(FloatRows logits, int n, std::int32_t* tokens,
                                         float* log_probabilities) {
    for (std::int64_t r = 0; r < logits.rows; ++r)
        top_row({logits.data + r * logits.columns, static_cast<std::size_t>(logits.columns)}, n,
                tokens + r * n, log_probabilities + r * n);
}

}  // namespace voltpile::llm
