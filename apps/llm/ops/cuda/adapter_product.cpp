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

// Both factors as fp16, a then b, with the padded rank.
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
        for (std::int64_t k = 0; k < rank; ++k) to(begin + j * padded + k) = half(factors.b, j * rank + k);
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

AdapterArgs adapters_of_rows(const AdapterWeights& adapters, const BatchView& batch) {
    AdapterArgs args = static_cast<const CudaAdapters&>(adapters).args();
    args.adapter_of = batch.adapter;
    args.order = batch.adapter_order;
    return args;
}

namespace {

void check_room(std::span<std::uint8_t> scratch, std::size_t bytes) {
    if (bytes > scratch.size()) throw DeviceError("products with adapters need more scratch memory");
}

AdapterArgs args_of_rows(HiddenRows x, const AdapterWeights& adapters, const BatchView& batch, void* out,
                         int out_columns, std::span<std::uint8_t> scratch) {
    AdapterArgs args = adapters_of_rows(adapters, batch);
    args.x = x.data;
    args.rows = static_cast<int>(x.rows);
    args.out = out;
    args.out_columns = out_columns;
    args.reduced = scratch.data();
    check_room(scratch, reduced_bytes(args, x.rows));
    return args;
}

ExpertAdapterArgs args_of_pairs(HiddenRows x, const AdapterWeights& adapters, const BatchView& batch,
                                std::int64_t rows, const Routing& routing, FloatRows out,
                                std::span<std::uint8_t> scratch) {
    ExpertAdapterArgs args{static_cast<const CudaAdapters&>(adapters).args(), routing};
    args.factors.adapter_of = batch.adapter;
    args.factors.x = x.data;
    args.factors.rows = static_cast<int>(rows) * routing.used;
    args.factors.reduced = scratch.data();
    args.factors.out = out.data;
    args.factors.out_columns = static_cast<int>(out.columns);
    check_room(scratch, reduced_bytes(args.factors, args.factors.rows));
    return args;
}

}  // namespace

void add_cuda_adapters(HiddenRows x, const AdapterWeights& adapters, const BatchView& batch, void* out,
                       bool float_out, int out_columns, std::span<std::uint8_t> scratch,
                       const Stream& stream) {
    if (batch.adapter == nullptr || x.rows == 0) return;
    const AdapterArgs args = args_of_rows(x, adapters, batch, out, out_columns, scratch);
    if (args.most_rank > 0) launch_add_adapters(args, float_out, stream);
}

void gate_cuda_adapters(HiddenRows x, const AdapterWeights& adapters, const BatchView& batch,
                        const GateArgs& gate, HiddenRows out, std::span<std::uint8_t> scratch,
                        const Stream& stream) {
    if (x.rows == 0) return;
    launch_adapted_gate(args_of_rows(x, adapters, batch, out.data, static_cast<int>(out.columns), scratch),
                        gate, stream);
}

void adapt_cuda_experts(HiddenRows x, const AdapterWeights& adapters, const BatchView& batch,
                        const Routing& routing, FloatRows out, std::span<std::uint8_t> scratch,
                        const Stream& stream) {
    if (x.rows > 0)
        launch_adapt_experts(args_of_pairs(x, adapters, batch, x.rows, routing, out, scratch), stream);
}

void add_cuda_expert_adapters(HiddenRows x, const AdapterWeights& adapters, const BatchView& batch,
                              const Routing& routing, FloatRows out, std::span<std::uint8_t> scratch,
                              const Stream& stream) {
    ExpertAdapterArgs args = args_of_pairs(x, adapters, batch, out.rows, routing, out, scratch);
    args.x_of_pairs = true;
    if (args.factors.most_rank == 0 || out.rows == 0) return;
    // As many columns at a time as fit, in whole groups if not all do.
    constexpr int group = 8;
    const auto pairs = static_cast<std::size_t>(args.factors.rows);
    const std::size_t reduced = (reduced_bytes(args.factors, args.factors.rows) + 255) / 256 * 256,
                      group_bytes = pairs * group * sizeof(float);
    check_room(scratch, reduced + group_bytes);
    const std::size_t groups = std::min<std::size_t>((scratch.size() - reduced) / group_bytes, 1 << 20);
    launch_add_expert_adapters(args, static_cast<int>(out.rows),
                               reinterpret_cast<float*>(scratch.data() + reduced),
                               std::min(args.factors.row_begin[1], static_cast<int>(groups) * group), stream);
}

}  // namespace voltpile::llm
