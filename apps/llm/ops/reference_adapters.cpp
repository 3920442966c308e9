// The definition of Ops::add_adapters.
#include "llm/ops/reference_ops.h"

namespace voltpile::llm {
namespace {

const float* factor_row(const HostMatrix& matrix, std::int64_t row) {
    return reinterpret_cast<const float*>(matrix.row(row));
}

double dot_product(const float* x, const float* y, std::int64_t count) {
    double sum = 0;
    for (std::int64_t i = 0; i < count; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(y[i]);
    return sum;
}

}  // namespace

void ReferenceOps::add_adapters(HiddenRows x, const AdapterWeights& adapters, const BatchView& batch,
                                FloatRows out) {
    if (batch.adapter == nullptr) return;
    for (std::int64_t r = 0; r < x.rows; ++r) {
        const int adapter = batch.adapter[r];
        if (adapter < 0) continue;
        const int rank = adapters.ranks()[static_cast<std::size_t>(adapter)];
        const float* const row = host(x).data + r * x.columns;
        for (int m = 0; m < adapters.matrices() && rank > 0; ++m) {
            const HostMatrix& a = host(adapters).a(adapter, m);
            const HostMatrix& b = host(adapters).b(adapter, m);
            std::vector<float> reduced;
            for (int k = 0; k < rank; ++k)
                reduced.push_back(static_cast<float>(dot_product(factor_row(a, k), row, x.columns)));
            float* const to = out.data + r * out.columns + adapters.row_begin()[static_cast<std::size_t>(m)];
            for (std::int64_t j = 0; j < b.rows(); ++j)
                to[j] += static_cast<float>(dot_product(factor_row(b, j), reduced.data(), rank));
        }
    }
}

}  // namespace voltpile::llm
