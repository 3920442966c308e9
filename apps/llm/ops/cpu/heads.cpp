// The operations of CpuOps on heads.
#include <algorithm>

#include "llm/ops/cpu/cpu_ops.h"
#include "llm/ops/cpu/work_items.h"

namespace voltpile::llm {

void CpuOps::matmul_heads(HiddenRows x, HeadColumns from, const WeightMatrix& weight, HiddenRows out,
                          HeadColumns to) {
    const std::int64_t heads = weight.rows() / to.count;
    // The inputs of each head, row after row.
    const std::int64_t of_head = x.rows * from.count;
    gathered_.resize(std::max(gathered_.size(), static_cast<std::size_t>(heads * of_head)));
    team_.for_each(heads, [&](std::int64_t h, int) {
        for (std::int64_t r = 0; r < x.rows; ++r)
            std::copy_n(host(x).data + r * x.columns + from.begin + h * from.stride, from.count,
                        gathered_.data() + h * of_head + r * from.count);
    });
    std::vector<std::int32_t> begins;
    for (std::int64_t h = 0; h <= heads; ++h) begins.push_back(static_cast<std::int32_t>(h * x.rows));
    const WeightMatrix* const one[] = {&weight};
    prepare({gathered_.data(), heads * x.rows, from.count}, begins, one);
    const std::int64_t each = weights_of_item(to.count, x.rows, team_.size());
    const std::int64_t items = items_of(to.count, x.rows, team_.size());
    team_.for_each(heads * items, [&](std::int64_t item, int thread) {
        const std::int64_t h = item / items;
        const FloatRows of_this{gathered_.data() + h * of_head, x.rows, from.count};
        Product p = product_of(weight, {of_this, h * x.rows, h}, 0, thread);
        p.begin = h * to.count + item % items * each;
        p.end = std::min(p.begin + each, (h + 1) * to.count);
        p.out = host(out).data + to.begin + h * to.stride + p.begin - h * to.count;
        p.out_stride = out.columns;
        run(p);
    });
}

void CpuOps::copy_heads(HiddenRows x, HeadColumns from, int heads, HiddenRows out, HeadColumns to) {
    team_.for_each(x.rows, [&](std::int64_t r, int) {
        for (std::int64_t h = 0; h < heads; ++h)
            std::copy_n(host(x).data + r * x.columns + from.begin + h * from.stride, from.count,
                        host(out).data + r * out.columns + to.begin + h * to.stride);
    });
}

}  // namespace voltpile::llm
