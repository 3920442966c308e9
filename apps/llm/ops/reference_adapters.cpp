// The definition of the operations with adapters.
#include <algorithm>
#include <vector>

#include "llm/ops/reference_ops.h"

namespace voltpile::llm {
namespace {

// y: `stride` numbers from one to the next.
double dot_product(const float* x, const float* y, std::int64_t stride, std::int64_t count) {
    double sum = 0;
    for (std::int64_t i = 0; i < count; ++i)
        sum += static_cast<double>(x[i]) * static_cast<double>(y[i * stride]);
    return sum;
}

// Calls store(j, product) for all outputs of an adapter, which may have rank 0, and a row of x.
template <class Store>
void adapter_products(const AdapterWeights& adapters, int adapter, const float* x, const Store& store) {
    const int rank = adapters.ranks()[static_cast<std::size_t>(adapter)];
    for (int m = 0; m < adapters.matrices() && rank > 0; ++m) {
        const HostMatrix& a = host(adapters).a(adapter);
        const auto at = static_cast<std::size_t>(m);
        const std::int64_t begin = adapters.row_begin()[at], rows = adapters.row_begin()[at + 1] - begin;
        std::vector<float> reduced;
        for (int k = 0; k < rank; ++k)
            reduced.push_back(static_cast<float>(dot_product(
                x, reinterpret_cast<const float*>(a.row(std::int64_t{m} * rank + k)), 1, a.columns())));
        const float* const b = host(adapters).b(adapter, m);
        for (std::int64_t j = 0; j < rows; ++j)
            store(begin + j, dot_product(reduced.data(), b + j, rows, rank));
    }
}

}  // namespace

void ReferenceOps::add_adapters(HiddenRows x, const AdapterWeights& adapters, const BatchView& batch,
                                FloatRows out) {
    if (batch.adapter == nullptr) return;
    for (std::int64_t r = 0; r < x.rows; ++r) {
        if (batch.adapter[r] < 0) continue;
        float* const to = out.data + r * out.columns;
        adapter_products(adapters, batch.adapter[r], host(x).data + r * x.columns,
                         [&](std::int64_t j, double sum) { to[j] += static_cast<float>(sum); });
    }
}

void ReferenceOps::adapt_experts(HiddenRows x, const AdapterWeights& adapters, const BatchView& batch,
                                 const Routing& routing, FloatRows out) {
    for (int e = 0; e < routing.experts; ++e)
        for (std::int64_t i = routing.begin[e]; i < routing.begin[e + 1]; ++i) {
            float* const to = out.data + i * out.columns;
            std::fill_n(to, out.columns, 0.0F);
            const std::int32_t adapter = batch.adapter[routing.row[i]];
            if (adapter < 0) continue;
            adapter_products(adapters, adapter * routing.experts + e,
                             host(x).data + routing.row[i] * x.columns,
                             [&](std::int64_t j, double sum) { to[j] = static_cast<float>(sum); });
        }
}

void ReferenceOps::add_expert_adapters(HiddenRows x, const AdapterWeights& adapters, const BatchView& batch,
                                       const Routing& routing, FloatRows out) {
    for (std::int64_t r = 0; r < out.rows; ++r) {
        std::vector<double> sums(static_cast<std::size_t>(out.columns));
        for (std::int64_t k = r * routing.used; k < (r + 1) * routing.used; ++k) {
            if (batch.adapter[r] < 0 || routing.expert[k] < 0) continue;
            adapter_products(adapters, batch.adapter[r] * routing.experts + routing.expert[k],
                             host(x).data + routing.place[k] * x.columns, [&](std::int64_t j, double sum) {
                                 sums[static_cast<std::size_t>(j)] +=
                                     static_cast<double>(routing.weight[k]) * sum;
                             });
        }
        for (std::size_t j = 0; j < sums.size(); ++j)
            out.data[r * out.columns + static_cast<std::int64_t>(j)] += static_cast<float>(sums[j]);
    }
}

}  // namespace voltpile::llm
