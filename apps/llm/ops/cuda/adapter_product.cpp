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

// Returns how many rows fit into the scratch memory at once. numbers: of each row.
std::int64_t rows_at_once(std::span<std::uint8_t> scratch, int numbers) {
    const auto fit =
        static_cast<std::int64_t>(scratch.size() / (static_cast<std::size_t>(numbers) * sizeof(float)));
    if (fit == 0) throw DeviceError("products with adapters need more scratch memory");
    return fit;
}

// Calls launch(arguments, first row) for as many rows at a time as fit into the scratch memory.
template <class Launch>
void for_rows_of_pairs(const AdapterWeights& adapters, const BatchView& batch, std::int64_t rows,
                       const Routing& routing, FloatRows out, std::span<std::uint8_t> scratch,
                       const Launch& launch) {
    ExpertAdapterArgs args{static_cast<const CudaAdapters&>(adapters).args(), routing};
    if (args.factors.most_rank == 0 || rows == 0) return;
    const std::int64_t fit =
        rows_at_once(scratch, routing.used * args.factors.matrices * args.factors.most_rank);
    args.factors.reduced = reinterpret_cast<float*>(scratch.data());
    args.factors.float_out = true;
    args.factors.out_columns = static_cast<int>(out.columns);
    for (std::int64_t row = 0; row < rows; row += fit) {
        args.factors.rows = static_cast<int>(std::min(fit, rows - row));
        args.factors.adapter_of = batch.adapter + row;
        args.routing.expert = routing.expert + row * routing.used;
        args.routing.place = routing.place + row * routing.used;
        args.routing.weight = routing.weight + row * routing.used;
        launch(args, row);
    }
}

}  // namespace

void add_cuda_adapters(HiddenRows x, const AdapterWeights& adapters, const BatchView& batch, void* out,
                       bool float_out, int out_columns, std::span<std::uint8_t> scratch,
                       const Stream& stream) {
    if (batch.adapter == nullptr || x.rows == 0) return;
    AdapterArgs args = static_cast<const CudaAdapters&>(adapters).args();
    if (args.most_rank == 0) return;
    const std::int64_t fit = rows_at_once(scratch, args.matrices * args.most_rank);
    args.reduced = reinterpret_cast<float*>(scratch.data());
    args.float_out = float_out;
    args.out_columns = out_columns;
    for (std::int64_t row = 0; row < x.rows; row += fit) {
        args.rows = static_cast<int>(std::min(fit, x.rows - row));
        args.adapter_of = batch.adapter + row;
        args.x = static_cast<const std::uint16_t*>(x.data) + row * x.columns;
        const std::int64_t first = row * out_columns;
        args.out = float_out ? static_cast<void*>(static_cast<float*>(out) + first)
                             : static_cast<void*>(static_cast<std::uint16_t*>(out) + first);
        launch_add_adapters(args, stream);
    }
}

void adapt_cuda_experts(HiddenRows x, const AdapterWeights& adapters, const BatchView& batch,
                        const Routing& routing, FloatRows out, std::span<std::uint8_t> scratch,
                        const Stream& stream) {
    for_rows_of_pairs(adapters, batch, x.rows, routing, out, scratch,
                      [&](ExpertAdapterArgs& args, std::int64_t row) {
                          args.factors.x = static_cast<const std::uint16_t*>(x.data) + row * x.columns;
                          args.factors.out = out.data;
                          launch_adapt_experts(args, stream);
                      });
}

void add_cuda_expert_adapters(HiddenRows x, const AdapterWeights& adapters, const BatchView& batch,
                              const Routing& routing, FloatRows out, std::span<std::uint8_t> scratch,
                              const Stream& stream) {
    for_rows_of_pairs(adapters, batch, out.rows, routing, out, scratch,
                      [&](ExpertAdapterArgs& args, std::int64_t row) {
                          args.factors.x = x.data;
                          args.factors.out = out.data + row * out.columns;
                          launch_add_expert_adapters(args, stream);
                      });
}

}  // namespace voltpile::llm
