// The operations of adapters on CPUs.
#include <algorithm>

#include "llm/ops/cpu/cpu_ops.h"

namespace voltpile::llm {

namespace {

float* room_for(std::vector<float>& memory, std::int64_t count) {
    memory.resize(std::max(memory.size(), static_cast<std::size_t>(count)));
    return memory.data();
}

std::int64_t outputs_of(const AdapterWeights& adapters, int matrix) {
    const auto at = static_cast<std::size_t>(matrix);
    return adapters.row_begin()[at + 1] - adapters.row_begin()[at];
}

}  // namespace

void CpuOps::reduce(const AdapterWeights& adapters, int factors, const float* x, std::int64_t rows,
                    std::int64_t begin, std::int64_t end, float* to, std::int64_t stride, int thread) {
    const HostMatrix& a = host(adapters).a(factors);
    Product p;
    p.format = a.format();
    p.w = a.row(0);
    p.row_bytes = a.row(1) - p.w;
    p.columns = a.columns();
    p.begin = begin;
    p.end = end;
    p.x = x;
    p.rows = rows;
    p.out = to;
    p.out_stride = stride;
    p.panel = scratch_[static_cast<std::size_t>(thread)].panel.data();
    kernels_.product(p);
}

void CpuOps::expand(const AdapterWeights& adapters, int factors, int m, std::int64_t begin, std::int64_t end,
                    const float* reduced, const AdaptedRows& rows, bool adds) const {
    const std::int64_t rank = adapters.ranks()[static_cast<std::size_t>(factors)];
    float* out[most_adapted_rows];
    for (std::int64_t i = 0; i < rows.count; ++i)
        out[i] = rows.out[i] + adapters.row_begin()[static_cast<std::size_t>(m)];
    kernels_.scaled_rows({host(adapters).b(factors, m), outputs_of(adapters, m), rank, begin, end,
                          reduced + m * rank, rank * adapters.matrices(), out, rows.count, adds});
}

void CpuOps::multiply_factors(const AdapterWeights& adapters, int factors, const AdaptedRows& rows, bool adds,
                              int thread) {
    const std::int64_t width = adapters.ranks()[static_cast<std::size_t>(factors)] * adapters.matrices(),
                       columns = adapters.columns();
    float* const gathered =
        room_for(scratch_[static_cast<std::size_t>(thread)].other, rows.count * (columns + width));
    float* const reduced = gathered + rows.count * columns;
    rows.gather(columns, gathered);
    reduce(adapters, factors, gathered, rows.count, 0, width, reduced, width, thread);
    for (int m = 0; m < adapters.matrices(); ++m)
        expand(adapters, factors, m, 0, outputs_of(adapters, m), reduced, rows, adds);
}

void CpuOps::add_factors_together(const AdapterWeights& adapters, int factors, const AdaptedRows& rows) {
    const std::int64_t width = adapters.ranks()[static_cast<std::size_t>(factors)] * adapters.matrices(),
                       columns = adapters.columns();
    const float* x = rows.x[0];
    if (rows.count > 1) {
        float* const gathered = room_for(gathered_, rows.count * columns);
        rows.gather(columns, gathered);
        x = gathered;
    }
    float* const reduced = room_for(reduced_, rows.count * width);
    constexpr std::int64_t factors_each = 4, outputs_each = 16 * scaled_columns;
    team_.for_each((width + factors_each - 1) / factors_each, [&](std::int64_t item, int thread) {
        const std::int64_t begin = item * factors_each;
        reduce(adapters, factors, x, rows.count, begin, std::min(begin + factors_each, width),
               reduced + begin, width, thread);
    });
    const auto items_in = [&](int m) { return (outputs_of(adapters, m) + outputs_each - 1) / outputs_each; };
    std::int64_t items = 0;
    for (int m = 0; m < adapters.matrices(); ++m) items += items_in(m);
    team_.for_each(items, [&](std::int64_t item, int) {
        int m = 0;
        for (; item >= items_in(m); ++m) item -= items_in(m);
        const std::int64_t begin = item * outputs_each;
        expand(adapters, factors, m, begin, std::min(begin + outputs_each, outputs_of(adapters, m)), reduced,
               rows, true);
    });
}

// The rows of each adapter together, so that its factors are read once for several rows.
void CpuOps::add_adapters(HiddenRows x, const AdapterWeights& adapters, const BatchView& batch,
                          FloatRows out) {
    if (batch.adapter == nullptr) return;
    for (int adapter = 0; adapter < static_cast<int>(adapters.ranks().size()); ++adapter) {
        adapted_rows_.clear();
        for (std::int64_t r = 0; r < x.rows && adapters.ranks()[static_cast<std::size_t>(adapter)] > 0; ++r)
            if (batch.adapter[r] == adapter) adapted_rows_.push_back(r);
        const auto rows = static_cast<std::int64_t>(adapted_rows_.size());
        const auto rows_from = [&](std::int64_t begin, std::int64_t end) {
            AdaptedRows some;
            for (; begin < end; ++begin) {
                const std::int64_t r = adapted_rows_[static_cast<std::size_t>(begin)];
                some.add(host(x).data + r * x.columns, out.data + r * out.columns);
            }
            return some;
        };
        // Many rows keep all threads busy, one group of rows each; few rows share the threads.
        constexpr std::int64_t few = 8;
        if (rows == 0) continue;
        if (rows < few) {
            add_factors_together(adapters, adapter, rows_from(0, rows));
            continue;
        }
        const std::int64_t each = std::clamp<std::int64_t>(rows / team_.size(), few / 2, most_adapted_rows);
        team_.for_each((rows + each - 1) / each, [&](std::int64_t item, int thread) {
            multiply_factors(adapters, adapter, rows_from(item * each, std::min((item + 1) * each, rows)),
                             true, thread);
        });
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
    constexpr auto most_pairs = static_cast<std::size_t>(most_adapted_rows);
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
    team_.for_each(static_cast<std::int64_t>(pair_ranges_.size()), [&](std::int64_t item, int thread) {
        const PairRange range = pair_ranges_[static_cast<std::size_t>(item)];
        AdaptedRows rows;
        for (std::size_t i = range.begin; i < range.end; ++i) {
            const std::int64_t pair = adapted_pairs_[i].pair, row = row_of != nullptr ? row_of[pair] : pair;
            rows.add(x.data + row * x.columns, out.data + pair * out.columns);
        }
        multiply_factors(adapters, adapted_pairs_[range.begin].factors, rows, false, thread);
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
