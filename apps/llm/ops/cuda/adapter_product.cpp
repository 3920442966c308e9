#include "llm/ops/cuda/adapter_product.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/half.h"
#include "llm/model/gpu_memory.h"

namespace voltpile::llm {
namespace {

static_assert(sizeof(AdapterEntry) == adapter_entry_bytes);

constexpr int padded_rank(int rank) {
    return (rank + 7) / 8 * 8;
}

// Both factors as fp16, a then b transposed, with the padded rank.
std::vector<std::uint16_t> packed(const AdapterFactors& factors, int matrices, std::int64_t columns,
                                  std::int64_t rows) {
    const std::int64_t rank = factors.rank, padded = padded_rank(factors.rank);
    std::vector<std::uint16_t> halves(static_cast<std::size_t>(padded * (matrices * columns + rows)));
    const auto to = [&](std::int64_t at) -> std::uint16_t& { return halves[static_cast<std::size_t>(at)]; };
    const auto half = [](const std::vector<float>& values, std::int64_t at) {
        return half_from_float(values[static_cast<std::size_t>(at)]);
    };
    for (std::int64_t m = 0; m < matrices; ++m)
        for (std::int64_t at = 0; at < rank * columns; ++at)
            to(m * padded * columns + at) = half(factors.a, m * rank * columns + at);
    const std::int64_t begin = matrices * padded * columns;
    for (std::int64_t j = 0; j < rows; ++j)
        for (std::int64_t k = 0; k < rank; ++k) to(begin + k * rows + j) = half(factors.b, j * rank + k);
    return halves;
}

}  // namespace

CudaAdapters::CudaAdapters(const AdapterSource& source, SlabMemory& slabs, PinnedCopies& copies,
                           const Stream& stream)
    : AdapterWeights(source) {
    if (matrices() > adapter_matrices)
        throw DeviceError(fmt::format("adapters of {} matrices with one input", matrices()));
    std::vector<AdapterEntry> table;
    for (const AdapterFactors& factors : source.adapters) {
        if (factors.rank > Ops::most_adapter_rank)
            throw DeviceError(
                fmt::format("an adapter has rank {}; the most is {}", factors.rank, Ops::most_adapter_rank));
        AdapterEntry& entry = table.emplace_back();
        SlabMemory::Piece& memory = factors_.emplace_back();
        if (factors.rank == 0) continue;
        const std::vector<std::uint16_t> halves = packed(factors, matrices(), columns(), row_begin().back());
        const std::size_t bytes = halves.size() * sizeof(halves[0]);
        memory = slabs.allocate(bytes);
        copies.upload(memory.data(), halves.data(), bytes, stream);
        entry.rank = padded_rank(factors.rank);
        entry.a = memory.data();
        entry.b = memory.data() + static_cast<std::size_t>(entry.rank) *
                                      static_cast<std::size_t>(matrices() * columns()) * sizeof(halves[0]);
        most_rank_ = std::max(most_rank_, entry.rank);
    }
    const std::size_t bytes = table.size() * sizeof(table[0]);
    table_ = slabs.allocate(std::max<std::size_t>(bytes, 1));
    copies.upload(table_.data(), table.data(), bytes, stream);
}

AdapterArgs CudaAdapters::args() const {
    AdapterArgs args;
    args.adapters = reinterpret_cast<const AdapterEntry*>(table_.data());
    args.columns = static_cast<int>(columns());
    args.matrices = matrices();
    std::ranges::transform(row_begin(), args.row_begin, [](std::int64_t at) { return static_cast<int>(at); });
    args.most_rank = most_rank_;
    return args;
}

namespace {

// Numbers of an item in AdapterArgs::reduced.
std::size_t numbers_of(const AdapterArgs& args) {
    return static_cast<std::size_t>(sections_of(args.columns) * args.matrices * args.most_rank);
}

// Returns how many items, of so many numbers each, fit into the scratch memory at once.
int items_at_once(std::size_t scratch_bytes, std::size_t numbers) {
    const std::size_t fit = scratch_bytes / (numbers * sizeof(float));
    if (fit == 0) throw DeviceError("products with adapters need more scratch memory");
    return static_cast<int>(std::min<std::size_t>(fit, 1 << 30));
}

// Calls launch(arguments) for as many rows at a time as fit into the scratch memory.
template <class Launch>
void for_rows(AdapterArgs args, const BatchView& batch, HiddenRows x, std::span<std::uint8_t> scratch,
              const Launch& launch) {
    const int fit = args.most_rank == 0 ? static_cast<int>(x.rows) : items_at_once(scratch.size(), numbers_of(args));
    args.reduced = reinterpret_cast<float*>(scratch.data());
    args.adapter_of = batch.adapter;
    args.x = x.data;
    for (int row = 0; row < x.rows; row += args.rows) {
        args.rows = std::min(fit, static_cast<int>(x.rows) - row);
        args.order = batch.adapter_order + row;
        launch(args);
    }
}

ExpertAdapterArgs args_of_pairs(HiddenRows x, const AdapterWeights& adapters, const BatchView& batch,
                                const Routing& routing, FloatRows out, std::span<std::uint8_t> scratch) {
    ExpertAdapterArgs args{static_cast<const CudaAdapters&>(adapters).args(), routing};
    args.factors.adapter_of = batch.adapter;
    args.factors.x = x.data;
    args.factors.reduced = reinterpret_cast<float*>(scratch.data());
    args.factors.out = out.data;
    args.factors.out_columns = static_cast<int>(out.columns);
    return args;
}

}  // namespace

void add_cuda_adapters(HiddenRows x, const AdapterWeights& adapters, const BatchView& batch, void* out,
                       bool float_out, int out_columns, std::span<std::uint8_t> scratch,
                       const Stream& stream) {
    AdapterArgs args = static_cast<const CudaAdapters&>(adapters).args();
    if (batch.adapter == nullptr || args.most_rank == 0) return;
    args.out = out;
    args.out_columns = out_columns;
    for_rows(args, batch, x, scratch,
             [&](const AdapterArgs& some) { launch_add_adapters(some, float_out, stream); });
}

void gate_cuda_adapters(HiddenRows x, const AdapterWeights& adapters, const BatchView& batch,
                        const GateArgs& gate, HiddenRows out, std::span<std::uint8_t> scratch,
                        const Stream& stream) {
    AdapterArgs args = static_cast<const CudaAdapters&>(adapters).args();
    args.out = out.data;
    args.out_columns = static_cast<int>(out.columns);
    for_rows(args, batch, x, scratch,
             [&](const AdapterArgs& some) { launch_adapted_gate(some, gate, stream); });
}

void adapt_cuda_experts(HiddenRows x, const AdapterWeights& adapters, const BatchView& batch,
                        const Routing& routing, FloatRows out, std::span<std::uint8_t> scratch,
                        const Stream& stream) {
    ExpertAdapterArgs args = args_of_pairs(x, adapters, batch, routing, out, scratch);
    const int pairs = static_cast<int>(x.rows) * routing.used;
    const int fit = args.factors.most_rank == 0 ? pairs
                                                : items_at_once(scratch.size(), numbers_of(args.factors));
    for (; args.first_pair < pairs; args.first_pair += args.factors.rows) {
        args.factors.rows = std::min(fit, pairs - args.first_pair);
        launch_adapt_experts(args, stream);
    }
}

void add_cuda_expert_adapters(HiddenRows x, const AdapterWeights& adapters, const BatchView& batch,
                              const Routing& routing, FloatRows out, std::span<std::uint8_t> scratch,
                              const Stream& stream) {
    ExpertAdapterArgs args = args_of_pairs(x, adapters, batch, routing, out, scratch);
    if (args.factors.most_rank == 0 || out.rows == 0) return;
    AddedExperts to{static_cast<int>(out.rows)};
    args.factors.rows = to.batch_rows * routing.used;
    const auto pairs = static_cast<std::size_t>(args.factors.rows);
    const std::size_t reduced = pairs * numbers_of(args.factors) * sizeof(float);
    const std::size_t left = scratch.size() > reduced ? scratch.size() - reduced : 0;
    if (!few_expert_pairs(args.factors.rows, routing.experts)) {
        to.products = reinterpret_cast<float*>(scratch.data() + reduced);
        to.products_columns = std::min(items_at_once(left, pairs), args.factors.row_begin[1]);
        // In whole groups of columns that sums over experts read at once, if there are several parts.
        if (to.products_columns >= 4 && to.products_columns < args.factors.row_begin[1])
            to.products_columns = to.products_columns / 4 * 4;
    } else {
        items_at_once(scratch.size(), pairs * numbers_of(args.factors));
    }
    launch_add_expert_adapters(args, to, stream);
}

}  // namespace voltpile::llm
