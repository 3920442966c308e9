#include "llm/decoder/adapter_loader.h"

#include <algorithm>

#include "llm/model/lora/lora_adapter.h"
#include "llm/ops/dequantize.h"

namespace voltpile::llm {
namespace {

static_assert(kMostLoraRank <= Ops::most_adapter_rank);

std::vector<float> row_of(const StoredTensor& tensor, std::size_t row) {
    std::vector<float> numbers(tensor.columns);
    dequantize_row(tensor.format, tensor.data + row * row_bytes(tensor.format, tensor.columns),
                   static_cast<std::int64_t>(tensor.columns), numbers.data());
    return numbers;
}

// One matrix and the rank's part of it.
struct Part {
    const ModelTensor& tensor;
    TensorShard shard;
};

// Copies the rank's part of the factors of one matrix to its place among those of all matrices, whose rank
// may be larger. a: of this matrix, zeros. b: the same.
void copy_part(const LoraFactors& factors, const Part& part, std::size_t head_dim, std::size_t rank, float* a,
               float* b) {
    const TensorSlice& slice = part.shard.stored;
    const IndexRange& used = part.shard.used_columns;
    for (std::size_t k = 0; k < factors.a.rows; ++k) {
        const std::vector<float> row = row_of(factors.a, k);
        std::copy(row.begin() + static_cast<std::ptrdiff_t>(used.begin),
                  row.begin() + static_cast<std::ptrdiff_t>(used.end),
                  a + k * slice.columns() + (used.begin - slice.column_begin));
    }
    for (std::size_t j = 0; j < slice.rows(); ++j) {
        const std::vector<float> row =
            row_of(factors.b, LoraAdapter::row_in_b(factors, slice.row_begin + j, head_dim));
        std::ranges::transform(row, b + j * rank, [&](float value) {
            return static_cast<float>(static_cast<double>(value) * factors.scale);
        });
    }
}

AdapterFactors factors_of(const LoraAdapter& adapter, const std::vector<Part>& parts, std::size_t head_dim) {
    AdapterFactors all;
    for (const Part& part : parts)
        if (const LoraFactors* factors = adapter.factors(part.tensor.name))
            all.rank = std::max(all.rank, factors->rank());
    if (all.rank == 0) return all;
    const auto rank = static_cast<std::size_t>(all.rank);
    const std::size_t columns = parts.front().shard.stored.columns();
    std::size_t rows = 0;
    for (const Part& part : parts) rows += part.shard.stored.rows();
    all.a.resize(parts.size() * rank * columns);
    all.b.resize(rows * rank);
    float *a = all.a.data(), *b = all.b.data();
    for (const Part& part : parts) {
        if (const LoraFactors* factors = adapter.factors(part.tensor.name))
            copy_part(*factors, part, head_dim, rank, a, b);
        a += rank * columns;
        b += part.shard.stored.rows() * rank;
    }
    return all;
}

}  // namespace

std::unique_ptr<AdapterWeights> load_adapters(const WeightLoader& loader, int layer,
                                              const std::vector<std::string>& names) {
    const ModelSource& model = loader.model();
    if (model.adapters().empty()) return nullptr;
    std::vector<Part> parts;
    AdapterSource source;
    for (const std::string& name : names) {
        const ModelTensor& tensor = model.layer_tensor(layer, name);
        parts.push_back({tensor, tensor_shard(model, tensor, loader.share())});
        source.rows.push_back(static_cast<std::int64_t>(parts.back().shard.stored.rows()));
    }
    source.columns = static_cast<std::int64_t>(parts.front().shard.stored.columns());
    for (const auto& adapter : model.adapters())
        source.adapters.push_back(
            factors_of(*adapter, parts, static_cast<std::size_t>(model.config().head_dim)));
    if (std::ranges::all_of(source.adapters, [](const AdapterFactors& each) { return each.rank == 0; }))
        return nullptr;
    return loader.ops().load_adapters(source);
}

}  // namespace voltpile::llm
