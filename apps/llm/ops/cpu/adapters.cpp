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

void CpuOps::find_adapted_pairs(const AdapterWeights& adapters, const BatchView& batch,
                                const Routing& routing) {
    adapted_pairs_.clear();
    for (int e = 0; e < routing.experts; ++e)
        for (std::int32_t i = routing.begin[e]; i < routing.begin[e + 1]; ++i) {
            const int adapter = batch.adapter[routing.row[i]];
            const int factors = adapter * routing.experts + e;
            if (adapter >= 0 && adapters.ranks()[static_cast<std::size_t>(factors)] > 0)
                adapted_pairs_.push_back({factors, i});
        }
    std::ranges::stable_sort(adapted_pairs_, {}, &AdaptedPair::factors);
    // Few enough in a range that threads share the pairs of one expert.
    constexpr std::size_t most_pairs = 16;
    pair_ranges_.clear();
    for (std::size_t i = 0; i < adapted_pairs_.size(); ++i) {
        if (pair_ranges_.empty() || i - pair_ranges_.back().begin == most_pairs ||
            adapted_pairs_[i].factors != adapted_pairs_[i - 1].factors)
            pair_ranges_.push_back({i, i});
        ++pair_ranges_.back().end;
    }
}

void CpuOps::multiply_adapted_pairs(FloatRows x, const std::int32_t* row_of, const AdapterWeights& adapters,
                                    FloatRows out) {
    const auto pair_at = [&](std::size_t i) { return std::int64_t{adapted_pairs_[i].pair}; };
    team_.for_each(static_cast<std::int64_t>(pair_ranges_.size()), [&](std::int64_t item, int thread) {
        const PairRange range = pair_ranges_[static_cast<std::size_t>(item)];
        const auto rows = static_cast<std::int64_t>(range.end - range.begin);
        const int factors = adapted_pairs_[range.begin].factors;
        const std::int64_t rank = adapters.ranks()[static_cast<std::size_t>(factors)];
        Scratch& scratch = scratch_[static_cast<std::size_t>(thread)];
        const std::int64_t needed = rows * (x.columns + rank + out.columns);
        scratch.other.resize(std::max(scratch.other.size(), static_cast<std::size_t>(needed)));
        float* const gathered = scratch.other.data();
        float *const reduced = gathered + rows * x.columns, *const products = reduced + rows * rank;
        for (std::int64_t i = 0; i < rows; ++i) {
            const std::int64_t pair = pair_at(range.begin + static_cast<std::size_t>(i));
            const std::int64_t row = row_of != nullptr ? row_of[pair] : pair;
            std::copy_n(x.data + row * x.columns, x.columns, gathered + i * x.columns);
        }
        const auto multiply_all = [&](const float* from, const HostMatrix& matrix, float* to,
                                      std::int64_t stride) {
            Product p;
            p.format = matrix.format();
            p.w = matrix.row(0);
            p.row_bytes = matrix.row(1) - p.w;
            p.columns = matrix.columns();
            p.end = matrix.rows();
            p.x = from;
            p.rows = rows;
            p.out = to;
            p.out_stride = stride;
            p.panel = scratch.panel.data();
            kernels_.product(p);
        };
        for (int m = 0; m < adapters.matrices(); ++m) {
            multiply_all(gathered, host(adapters).a(factors, m), reduced, rank);
            multiply_all(reduced, host(adapters).b(factors, m),
                         products + adapters.row_begin()[static_cast<std::size_t>(m)], out.columns);
        }
        for (std::int64_t i = 0; i < rows; ++i)
            std::copy_n(products + i * out.columns, out.columns,
                        out.data + pair_at(range.begin + static_cast<std::size_t>(i)) * out.columns);
    });
}

void CpuOps::adapt_experts(HiddenRows x, const AdapterWeights& adapters, const BatchView& batch,
                           const Routing& routing, FloatRows out) {
    find_adapted_pairs(adapters, batch, routing);
    const std::int64_t pairs = routing.begin[routing.experts];
    if (std::ssize(adapted_pairs_) < pairs) std::fill_n(out.data, pairs * out.columns, 0.0F);
    multiply_adapted_pairs(host(x), routing.row, adapters, out);
}

void CpuOps::add_expert_adapters(HiddenRows x, const AdapterWeights& adapters, const BatchView& batch,
                                 const Routing& routing, FloatRows out) {
    find_adapted_pairs(adapters, batch, routing);
    const std::int64_t pairs = routing.begin[routing.experts];
    products_.resize(std::max(products_.size(), static_cast<std::size_t>(pairs * out.columns)));
    multiply_adapted_pairs(host(x), nullptr, adapters, {products_.data(), pairs, out.columns});
    team_.for_each(out.rows, [&](std::int64_t r, int) {
        float* const to = out.data + r * out.columns;
        for (std::int64_t k = r * routing.used; k < (r + 1) * routing.used; ++k) {
            const int factors = batch.adapter[r] * routing.experts + routing.expert[k];
            if (batch.adapter[r] < 0 || routing.expert[k] < 0 ||
                adapters.ranks()[static_cast<std::size_t>(factors)] == 0)
                continue;
            const float* const from = products_.data() + routing.place[k] * out.columns;
            for (std::int64_t c = 0; c < out.columns; ++c) to[c] += routing.weight[k] * from[c];
        }
    });
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
