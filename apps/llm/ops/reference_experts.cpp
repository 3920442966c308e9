// The definition of the operations on mixtures of experts.
#include <algorithm>
#include <cmath>
#include <vector>

#include "llm/ops/dequantize.h"
#include "llm/ops/reference_ops.h"
#include "llm/ops/routing.h"

namespace voltpile::llm {
namespace {

double dot(const float* x, const float* w, std::int64_t columns) {
    double sum = 0;
    for (std::int64_t c = 0; c < columns; ++c) sum += static_cast<double>(x[c]) * static_cast<double>(w[c]);
    return sum;
}

// Calls store(j, dot product of x with row j, plus the bias) for all rows of the expert's matrix.
template <class Store>
void row_products(const float* x, const ExpertWeights& experts, std::int64_t expert, const Store& store) {
    const WeightMatrix& matrix = experts.of(expert);
    const float* bias = experts.bias() != nullptr ? experts.bias() + expert * matrix.rows() : nullptr;
    std::vector<float> w(static_cast<std::size_t>(matrix.columns()));
    for (std::int64_t j = 0; j < matrix.rows(); ++j) {
        dequantize_row(matrix.format(), host(matrix).row(j), matrix.columns(), w.data());
        store(j, dot(x, w.data(), matrix.columns()) + (bias != nullptr ? static_cast<double>(bias[j]) : 0));
    }
}

}  // namespace

void ReferenceOps::route(HiddenRows x, const RouterSettings& settings, const BatchView& batch,
                         const Routing& to, const AdapterWeights* adapters) {
    // The logits of experts and of the shared expert's gate.
    const std::int64_t outputs = settings.experts + (settings.shared_gate != nullptr ? 1 : 0);
    std::vector<float> added(static_cast<std::size_t>(x.rows * outputs));
    if (adapters != nullptr) add_adapters(x, *adapters, batch, FloatRows{added.data(), x.rows, outputs});
    std::vector<float> logits(static_cast<std::size_t>(settings.experts));
    for (std::int64_t r = 0; r < x.rows; ++r) {
        const float* row = host(x).data + r * x.columns;
        const auto added_to = [&](std::int64_t e) {
            return static_cast<double>(added[static_cast<std::size_t>(r * outputs + e)]);
        };
        for (std::int64_t e = 0; e < settings.experts; ++e)
            logits[static_cast<std::size_t>(e)] =
                static_cast<float>(dot(row, settings.weight + e * x.columns, x.columns) + added_to(e) +
                                   (settings.bias != nullptr ? static_cast<double>(settings.bias[e]) : 0));
        choose_experts(logits.data(), settings, batch.sequence[r] < 0, r, to);
        if (to.shared != nullptr)
            to.shared[r] =
                settings.shared_gate == nullptr
                    ? 1
                    : static_cast<float>(1 / (1 + std::exp(-dot(row, settings.shared_gate, x.columns) -
                                                           added_to(settings.experts))));
    }
    sort_by_expert(x.rows, to);
}

void ReferenceOps::gated_experts(HiddenRows x, const ExpertWeights& gate, const ExpertWeights& up,
                                 Activation activation, const Routing& routing, const float* added,
                                 HiddenRows out) {
    std::vector<double> gates(static_cast<std::size_t>(out.columns));
    for (std::int64_t e = 0; e < routing.experts; ++e)
        for (std::int64_t i = routing.begin[e]; i < routing.begin[e + 1]; ++i) {
            const float* row = host(x).data + routing.row[i] * x.columns;
            float* to = host(out).data + i * out.columns;
            const auto added_to = [&](std::int64_t j) {
                return added != nullptr ? static_cast<double>(added[i * 2 * out.columns + j]) : 0;
            };
            row_products(row, gate, e, [&](std::int64_t j, double sum) {
                gates[static_cast<std::size_t>(j)] = sum + added_to(j);
            });
            row_products(row, up, e, [&](std::int64_t j, double sum) {
                to[j] = static_cast<float>(gated_reference(activation, gates[static_cast<std::size_t>(j)],
                                                           sum + added_to(out.columns + j)));
            });
        }
}

void ReferenceOps::sum_experts(HiddenRows x, const ExpertWeights& down, const Routing& routing,
                               FloatRows out) {
    std::vector<double> sums(static_cast<std::size_t>(out.columns));
    for (std::int64_t r = 0; r < out.rows; ++r) {
        float* to = out.data + r * out.columns;
        for (std::size_t j = 0; j < sums.size(); ++j)
            sums[j] = routing.shared != nullptr
                          ? static_cast<double>(routing.shared[r]) * static_cast<double>(to[j])
                          : 0;
        for (std::int64_t k = r * routing.used; k < (r + 1) * routing.used; ++k) {
            if (routing.expert[k] < 0) continue;
            row_products(host(x).data + routing.place[k] * x.columns, down, routing.expert[k],
                         [&](std::int64_t j, double sum) {
                             sums[static_cast<std::size_t>(j)] +=
                                 static_cast<double>(routing.weight[k]) * sum;
                         });
        }
        for (std::size_t j = 0; j < sums.size(); ++j)
            to[j] = static_cast<float>(sums[j]) + (routing.adds ? to[j] : 0);
    }
}

}  // namespace voltpile::llm
