#include "llm/ops/cuda/adapter_product.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/half.h"
#include "llm/model/gpu_memory.h"
#include "llm/ops/cuda/experts.h"

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

CudaAdapters::CudaAdapters(const AdapterSource& source, SlabMemory& slabs, PinnedCopies& copies, float limit,
                           const Stream& stream)
    : AdapterWeights(source), limit_(limit) {
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
    args.limit = limit_;
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

// Sets some columns of the products of all sorted pairs with their factors, see launch_expand_pairs(), as
// many pairs at a time as fit into the scratch memory.
void expand_all_pairs(ExpertAdapterArgs args, const BatchView& batch, std::int64_t pairs,
                      std::span<std::uint8_t> scratch, FloatRows out, int out_begin, const Stream& stream) {
    const std::size_t each = std::max<std::size_t>(reduced_bytes(args.factors, 1), 1);
    check_room(scratch, each);
    const auto fit = static_cast<std::int64_t>(std::min<std::size_t>(scratch.size() / each, 1 << 30));
    args.factors.adapter_of = batch.adapter;
    args.factors.reduced = scratch.data();
    for (std::int64_t pair = 0; pair < pairs; pair += fit) {
        args.first_pair = static_cast<int>(pair);
        args.factors.rows = static_cast<int>(std::min(fit, pairs - pair));
        launch_expand_pairs(args, out.data, out_begin, static_cast<int>(out.columns), stream);
    }
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
    ExpertAdapterArgs args{static_cast<const CudaAdapters&>(adapters).args(), routing};
    args.factors.x = x.data;
    expand_all_pairs(args, batch, x.rows * routing.used, scratch, out, 0, stream);
}

void add_cuda_expert_adapters(HiddenRows x, const AdapterWeights& adapters, const BatchView& batch,
                              const Routing& routing, FloatRows out, std::span<std::uint8_t> scratch,
                              const Stream& stream) {
    ExpertAdapterArgs args{static_cast<const CudaAdapters&>(adapters).args(), routing};
    if (args.factors.most_rank == 0 || out.rows == 0) return;
    args.factors.x = x.data;
    args.x_of_pairs = true;
    Routing adds = routing;
    adds.adds = true;
    adds.shared = nullptr;
    // As many columns at a time as fit into half of the memory, in whole groups if not all do.
    constexpr std::int64_t group = 8;
    const std::int64_t pairs = out.rows * routing.used, outputs = args.factors.row_begin[1];
    const auto of_products = scratch.first(scratch.size() / 2 / 256 * 256);
    const auto groups = static_cast<std::int64_t>(of_products.size() / sizeof(float)) / (pairs * group);
    if (groups == 0) throw DeviceError("products with adapters need more scratch memory");
    auto* const products = reinterpret_cast<float*>(of_products.data());
    const std::int64_t each = std::min(outputs, groups * group);
    for (std::int64_t begin = 0; begin < outputs; begin += each) {
        const std::int64_t columns = std::min(each, outputs - begin);
        expand_all_pairs(args, batch, pairs, scratch.subspan(of_products.size()), {products, pairs, columns},
                         static_cast<int>(begin), stream);
        launch_sum_pairs(products, nullptr, 0, adds, static_cast<int>(out.rows), static_cast<int>(columns),
                         out.data + begin, static_cast<int>(out.columns), stream);
    }
}

}  // namespace voltpile::llm
