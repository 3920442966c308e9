#include "llm/decoder/adapter_loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "base/error.h"
#include "llm/model/byte_cursor.h"
#include "llm/model/lora/adapter_memory.h"
#include "llm/model/lora/lora_adapter.h"
#include "llm/ops/dequantize.h"

namespace voltpile::llm {
namespace {

static_assert(kMostLoraRank <= Ops::most_adapter_rank);

// Returns the elements (row, begin) to (row, begin + count - 1) of a factor.
std::vector<float> elements(const FactorView& factor, std::size_t row, std::size_t begin, std::size_t count) {
    const StoredTensor& tensor = factor.tensor;
    const std::size_t first = factor.first + row * factor.row_step;
    if (factor.column_step == 1) {
        std::vector<float> numbers(tensor.columns);
        dequantize_row(tensor.format,
                       tensor.data + first / tensor.columns * row_bytes(tensor.format, tensor.columns),
                       static_cast<std::int64_t>(tensor.columns), numbers.data());
        numbers.erase(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(begin));
        numbers.resize(count);
        return numbers;
    }
    std::vector<float> numbers(count);
    const std::size_t bytes = row_bytes(tensor.format, 1);
    for (std::size_t j = 0; j < count; ++j)
        dequantize_row(tensor.format, tensor.data + (first + (begin + j) * factor.column_step) * bytes, 1,
                       &numbers[j]);
    return numbers;
}

// One matrix and the rank's part of it.
struct Part {
    const ModelTensor& tensor;
    TensorShard shard;
};

// Throws FileError unless all numbers are finite.
void check_finite(std::span<const float> numbers, const LoraAdapter& adapter, const ModelTensor& tensor) {
    if (std::ranges::all_of(numbers, [](float number) { return std::isfinite(number); })) return;
    throw FileError(fmt::format("adapter {}: its factors of {} have numbers that are not finite",
                                printable(adapter.name()), tensor.name),
                    ExitCode::BadInput);
}

// Copies the rank's part of the factors of one matrix to its place among those of all matrices, whose rank
// may be larger. a: of this matrix, zeros. b: the same.
void copy_part(const LoraFactors& factors, const Part& part, std::size_t head_dim, std::size_t rank, float* a,
               float* b) {
    const TensorSlice& slice = part.shard.stored;
    const IndexRange& used = part.shard.used_columns;
    const auto own_rank = static_cast<std::size_t>(factors.rank);
    for (std::size_t k = 0; k < own_rank; ++k)
        std::ranges::copy(elements(factors.a, k, used.begin, used.size()),
                          a + k * slice.columns() + (used.begin - slice.column_begin));
    for (std::size_t j = 0; j < slice.rows(); ++j) {
        const std::vector<float> row =
            elements(factors.b, row_in_b(factors, slice.row_begin + j, head_dim), 0, own_rank);
        std::ranges::transform(row, b + j * rank, [&](float value) {
            return static_cast<float>(static_cast<double>(value) * factors.scale);
        });
    }
}

AdapterFactors factors_of(const LoraAdapter& adapter, const std::vector<Part>& parts, std::size_t head_dim) {
    AdapterFactors all;
    for (const Part& part : parts)
        if (const LoraFactors* factors = adapter.factors(part.tensor.name))
            all.rank = std::max(all.rank, factors->rank);
    if (all.rank == 0) return all;
    const auto rank = static_cast<std::size_t>(all.rank);
    const std::size_t columns = parts.front().shard.stored.columns();
    std::size_t rows = 0;
    for (const Part& part : parts) rows += part.shard.stored.rows();
    all.a.resize(parts.size() * rank * columns);
    all.b.resize(rows * rank);
    float *a = all.a.data(), *b = all.b.data();
    for (const Part& part : parts) {
        const std::size_t a_size = rank * columns, b_size = part.shard.stored.rows() * rank;
        if (const LoraFactors* factors = adapter.factors(part.tensor.name)) {
            copy_part(*factors, part, head_dim, rank, a, b);
            check_finite({a, a_size}, adapter, part.tensor);
            check_finite({b, b_size}, adapter, part.tensor);
        }
        a += a_size;
        b += b_size;
    }
    return all;
}

// The matrices of a layer with these names.
std::vector<Part> parts_of(const WeightLoader& loader, int layer, const std::vector<std::string>& names) {
    std::vector<Part> parts;
    for (const std::string& name : names) {
        const ModelTensor& tensor = loader.model().layer_tensor(layer, name);
        parts.push_back({tensor, tensor_shard(loader.model(), tensor, loader.share())});
    }
    return parts;
}

// Loads the factors of each adapter for each of the groups of matrices, which have the same shapes.
std::unique_ptr<AdapterWeights> load_groups(const WeightLoader& loader,
                                            const std::vector<std::vector<Part>>& groups) {
    const ModelSource& model = loader.model();
    AdapterSource source;
    for (const Part& part : groups.front())
        source.rows.push_back(static_cast<std::int64_t>(part.shard.stored.rows()));
    source.columns = static_cast<std::int64_t>(groups.front().front().shard.stored.columns());
    for (const auto& adapter : model.adapters())
        for (const std::vector<Part>& parts : groups)
            source.adapters.push_back(
                factors_of(*adapter, parts, static_cast<std::size_t>(model.config().head_dim)));
    if (std::ranges::all_of(source.adapters, [](const AdapterFactors& each) { return each.rank == 0; }))
        return nullptr;
    return loader.ops().load_adapters(source);
}

}  // namespace

std::unique_ptr<AdapterWeights> load_adapters(const WeightLoader& loader, int layer,
                                              const std::vector<std::string>& names) {
    if (loader.model().adapters().empty()) return nullptr;
    return load_groups(loader, {parts_of(loader, layer, names)});
}

std::unique_ptr<AdapterWeights> load_expert_adapters(const WeightLoader& loader, int layer,
                                                     const std::vector<std::string>& kinds) {
    if (!adapts_experts(loader.model().adapters())) return nullptr;
    std::vector<std::vector<Part>> groups;
    for (std::size_t e = loader.share().experts.begin; e < loader.share().experts.end; ++e) {
        std::vector<std::string> names;
        for (const std::string& kind : kinds) names.push_back(fmt::format("{}.{}.weight", kind, e));
        groups.push_back(parts_of(loader, layer, names));
    }
    return load_groups(loader, groups);
}

}  // namespace voltpile::llm
