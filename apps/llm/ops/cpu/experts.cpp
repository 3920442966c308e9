// The operations of CpuOps on mixtures of experts.
#include <algorithm>
#include <cmath>

#include "llm/ops/cpu/cpu_ops.h"
#include "llm/ops/cpu/work_items.h"
#include "llm/ops/routing.h"

namespace voltpile::llm {
namespace {

// Returns fp32 numbers in memory as a matrix.
HostMatrix matrix_of(const float* numbers, std::int64_t rows, std::int64_t columns) {
    return HostMatrix({WeightFormat::F32, rows, columns, static_cast<std::size_t>(columns) * sizeof(float),
                       reinterpret_cast<const std::byte*>(numbers), true});
}

std::int64_t pairs_of(const Routing& routing, std::int64_t expert) {
    return routing.begin[expert + 1] - routing.begin[expert];
}

const float* bias_of(const ExpertWeights& weights, std::int64_t expert) {
    return weights.bias() == nullptr ? nullptr : weights.bias() + expert * weights.rows();
}

std::span<const std::int32_t> begins_of(const Routing& routing) {
    return {routing.begin, static_cast<std::size_t>(routing.experts) + 1};
}

FloatRows rows_of(FloatRows x, std::int64_t begin, std::int64_t rows) {
    return {x.data == nullptr ? nullptr : x.data + begin * x.columns, rows, x.columns};
}

}  // namespace

void CpuOps::route(HiddenRows x, const RouterSettings& settings, const BatchView& batch, const Routing& to,
                   const AdapterWeights* adapters) {
    // The logits of experts and of the shared expert's gate.
    const bool gated = to.shared != nullptr && settings.shared_gate != nullptr;
    const std::int64_t outputs = settings.experts + (gated ? 1 : 0);
    logits_.resize(static_cast<std::size_t>(x.rows * outputs));
    const FloatRows logits{logits_.data(), x.rows, outputs};
    const HostMatrix router = matrix_of(settings.weight, settings.experts, x.columns);
    const HostMatrix shared_gate =
        matrix_of(gated ? settings.shared_gate : nullptr, gated ? 1 : 0, x.columns);
    const WeightMatrix* const weights[] = {&router, &shared_gate};
    multiply(host(x), std::span(weights).first(gated ? 2 : 1), logits);
    if (adapters != nullptr) add_adapters(x, *adapters, batch, logits);
    team_.for_each(x.rows, [&](std::int64_t r, int) {
        float* const row = logits.data + r * outputs;
        for (std::int64_t e = 0; settings.bias != nullptr && e < settings.experts; ++e)
            row[e] += settings.bias[e];
        if (to.shared != nullptr) to.shared[r] = gated ? 1 / (1 + std::exp(-row[settings.experts])) : 1;
        choose_experts(row, settings, batch.sequence[r] < 0, r, to);
    });
    sort_by_expert(x.rows, to);
}

template <class ItemProduct>
void CpuOps::for_each_item(const ExpertWeights& weights, const Routing& routing, const ItemProduct& product) {
    expert_items_.clear();
    for (std::int64_t e = 0; e < routing.experts; ++e) {
        const std::int64_t pairs = pairs_of(routing, e);
        const std::int64_t items = pairs > 0 ? items_of(weights.of(e).rows(), pairs, team_.size()) : 0;
        for (std::int64_t item = 0; item < items; ++item) expert_items_.push_back({e, item});
    }
    team_.for_each(static_cast<std::int64_t>(expert_items_.size()), [&](std::int64_t index, int thread) {
        const ExpertItem at = expert_items_[static_cast<std::size_t>(index)];
        product(at.expert, at.item, thread);
    });
}

FloatRows CpuOps::gather_rows(FloatRows x, const Routing& routing, const WeightMatrix& gate,
                              const WeightMatrix& up) {
    const FloatRows gathered{nullptr, routing.begin[routing.experts], x.columns};
    const auto row_of = [&](std::int64_t i) { return x.data + routing.row[i] * x.columns; };
    if (by_integers(gate) || by_integers(up)) quantize_rows(gathered.rows, x.columns, row_of);
    if (by_integers(gate) && by_integers(up)) return gathered;
    gathered_.resize(std::max(gathered_.size(), static_cast<std::size_t>(gathered.rows * x.columns)));
    team_.for_each(gathered.rows, [&](std::int64_t i, int) {
        std::copy_n(row_of(i), x.columns, gathered_.data() + i * x.columns);
    });
    const FloatRows copied{gathered_.data(), gathered.rows, x.columns};
    const WeightMatrix* const both[] = {&gate, &up};
    group_rows(copied, begins_of(routing), both);
    return copied;
}

void CpuOps::gated_experts(HiddenRows x, const ExpertWeights& gate, const ExpertWeights& up,
                           Activation activation, const Routing& routing, const float* added,
                           HiddenRows out) {
    const FloatRows gathered = gather_rows(host(x), routing, gate.of(0), up.of(0));
    for_each_item(gate, routing, [&](std::int64_t expert, std::int64_t item, int thread) {
        const std::int64_t begin = routing.begin[expert], rows = pairs_of(routing, expert);
        const GateSettings settings{activation, bias_of(gate, expert), bias_of(up, expert),
                                    added == nullptr ? nullptr : added + begin * 2 * gate.rows()};
        run_gated(gate.of(expert), up.of(expert), {rows_of(gathered, begin, rows), begin, expert}, item,
                  thread, settings, rows_of(host(out), begin, rows));
    });
}

void CpuOps::sum_experts(HiddenRows x, const ExpertWeights& down, const Routing& routing, FloatRows out) {
    const FloatRows sorted = rows_of(host(x), 0, routing.begin[routing.experts]);
    products_.resize(std::max(products_.size(), static_cast<std::size_t>(sorted.rows * out.columns)));
    const WeightMatrix* const one[] = {&down.of(0)};
    prepare(sorted, begins_of(routing), one);
    for_each_item(down, routing, [&](std::int64_t expert, std::int64_t item, int thread) {
        const std::int64_t begin = routing.begin[expert];
        const FloatRows rows = rows_of(sorted, begin, pairs_of(routing, expert));
        Product p = product_of(down.of(expert), {rows, begin, expert}, item, thread);
        p.out = products_.data() + begin * out.columns + p.begin;
        p.out_stride = out.columns;
        run(p);
    });
    team_.for_each(out.rows, [&](std::int64_t r, int thread) {
        float* const row = out.data + r * out.columns;
        float* to = row;
        if (routing.adds) {
            std::vector<float>& sums = scratch_[static_cast<std::size_t>(thread)].other;
            sums.resize(std::max(sums.size(), static_cast<std::size_t>(out.columns)));
            to = sums.data();
        }
        const float shared = routing.shared != nullptr ? routing.shared[r] : 0;
        if (routing.shared == nullptr) std::fill_n(to, out.columns, 0.0F);
        for (std::int64_t c = 0; routing.shared != nullptr && c < out.columns; ++c) to[c] *= shared;
        for (std::int64_t k = r * routing.used; k < (r + 1) * routing.used; ++k) {
            if (routing.expert[k] < 0) continue;
            const float* from = products_.data() + routing.place[k] * out.columns;
            const float weight = routing.weight[k];
            for (std::int64_t c = 0; c < out.columns; ++c) to[c] += weight * from[c];
            const float* bias = bias_of(down, routing.expert[k]);
            for (std::int64_t c = 0; bias != nullptr && c < out.columns; ++c) to[c] += weight * bias[c];
        }
        for (std::int64_t c = 0; routing.adds && c < out.columns; ++c) row[c] += to[c];
    });
}

}  // namespace voltpile::llm
