// The operations of adapters on CPUs.
#include <algorithm>

#include "llm/ops/cpu/cpu_ops.h"

namespace voltpile::llm {

// The rows of each adapter together, so that its factors are read once for all of them.
void CpuOps::add_adapters(HiddenRows x, const AdapterWeights& adapters, const BatchView& batch,
                          FloatRows out) {
    if (batch.adapter == nullptr) return;
    const auto room_for = [](std::vector<float>& memory, std::int64_t count) {
        memory.resize(std::max(memory.size(), static_cast<std::size_t>(count)));
        return memory.data();
    };
    for (int adapter = 0; adapter < static_cast<int>(adapters.ranks().size()); ++adapter) {
        const std::int64_t rank = adapters.ranks()[static_cast<std::size_t>(adapter)];
        adapted_rows_.clear();
        for (int r = 0; r < static_cast<int>(x.rows) && rank > 0; ++r)
            if (batch.adapter[r] == adapter) adapted_rows_.push_back(r);
        if (adapted_rows_.empty()) continue;
        const auto rows = static_cast<std::int64_t>(adapted_rows_.size());
        FloatRows gathered = host(x);
        if (rows < x.rows) {
            gathered = {room_for(gathered_, rows * x.columns), rows, x.columns};
            for (std::int64_t i = 0; i < rows; ++i)
                std::copy_n(host(x).data + adapted_rows_[static_cast<std::size_t>(i)] * x.columns, x.columns,
                            gathered.data + i * x.columns);
        }
        for (int m = 0; m < adapters.matrices(); ++m) {
            const std::int64_t begin = adapters.row_begin()[static_cast<std::size_t>(m)];
            const WeightMatrix *const a = &host(adapters).a(adapter, m), *const b =
                                                                             &host(adapters).b(adapter, m);
            const FloatRows reduced{room_for(reduced_, rows * rank), rows, rank};
            const FloatRows added{room_for(products_, rows * b->rows()), rows, b->rows()};
            multiply(gathered, {&a, 1}, reduced);
            multiply(reduced, {&b, 1}, added);
            for (std::int64_t i = 0; i < rows; ++i) {
                float* const to = out.data + adapted_rows_[static_cast<std::size_t>(i)] * out.columns + begin;
                const float* const from = added.data + i * added.columns;
                for (std::int64_t j = 0; j < added.columns; ++j) to[j] += from[j];
            }
        }
    }
}

void CpuOps::gate(HiddenRows x, Activation activation, HiddenRows out) {
    team_.for_each(out.rows, [&](std::int64_t r, int) {
        const float* const from = host(x).data + r * x.columns;
        float* const to = host(out).data + r * out.columns;
        std::copy_n(from, out.columns, to);
        kernels_.gate(activation, to, from + out.columns, out.columns);
    });
}

}  // namespace voltpile::llm
