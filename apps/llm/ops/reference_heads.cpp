// The definition of the operations on heads.
#include <algorithm>
#include <vector>

#include "llm/ops/dequantize.h"
#include "llm/ops/reference_ops.h"

namespace voltpile::llm {

void ReferenceOps::matmul_heads(HiddenRows x, HeadColumns from, const WeightMatrix& weight, HiddenRows out,
                                HeadColumns to) {
    std::vector<float> w(static_cast<std::size_t>(weight.columns()));
    for (std::int64_t row = 0; row < weight.rows(); ++row) {
        dequantize_row(weight.format(), host(weight).row(row), weight.columns(), w.data());
        const std::int64_t head = row / to.count, j = row % to.count;
        for (std::int64_t r = 0; r < x.rows; ++r) {
            const float* v = host(x).data + r * x.columns + from.begin + head * from.stride;
            double sum = 0;
            for (std::size_t c = 0; c < w.size(); ++c)
                sum += static_cast<double>(v[c]) * static_cast<double>(w[c]);
            host(out).data[r * out.columns + to.begin + head * to.stride + j] = static_cast<float>(sum);
        }
    }
}

void ReferenceOps::copy_heads(HiddenRows x, HeadColumns from, int heads, HiddenRows out, HeadColumns to) {
    for (std::int64_t r = 0; r < x.rows; ++r)
        for (std::int64_t h = 0; h < heads; ++h)
            std::copy_n(host(x).data + r * x.columns + from.begin + h * from.stride, from.count,
                        host(out).data + r * out.columns + to.begin + h * to.stride);
}

}  // namespace voltpile::llm
