// Adapters with random factors, for benchmarks.
#include <algorithm>

#include "llm/model/lora/adapter_matcher.h"
#include "llm/model/lora/lora_adapter.h"
#include "llm/model/synthetic_blocks.h"

namespace voltpile::llm {
namespace {

// Of all factors, as a uniform distribution around 0: the products are small beside those of the model, whose
// weights have a deviation of 1 / sqrt(columns).
constexpr float kSpread = 0.02F;

FactorView factor(const std::vector<float>& numbers, std::size_t rows, std::size_t columns) {
    StoredTensor tensor{};
    tensor.format = WeightFormat::F32;
    tensor.dimensions = 2;
    tensor.rows = rows;
    tensor.columns = columns;
    tensor.data = reinterpret_cast<const std::byte*>(numbers.data());
    tensor.bytes = rows * columns * sizeof(float);
    return rows_from(tensor, 0);
}

}  // namespace

std::shared_ptr<const LoraAdapter> LoraAdapter::random(const std::string& name, const ModelSource& model,
                                                       int rank) {
    const auto of_rank = static_cast<std::size_t>(rank);
    std::vector<const ModelTensor*> matrices;
    std::size_t most = 0;
    for (const ModelTensor& tensor : model.tensors()) {
        if (tensor.router || tensor.rows == 1 || !can_adapt(model.config(), tensor)) continue;
        matrices.push_back(&tensor);
        most = std::max({most, of_rank * tensor.columns, of_rank * tensor.rows});
    }
    std::shared_ptr<LoraAdapter> adapter(new LoraAdapter(name));
    adapter->numbers_.resize(most);
    make_vector(tensor_key(1, name), 0, most, 0, kSpread,
                reinterpret_cast<std::byte*>(adapter->numbers_.data()));
    for (const ModelTensor* const matrix : matrices) {
        LoraFactors factors;
        factors.rank = rank;
        factors.shared = true;
        factors.a = factor(adapter->numbers_, of_rank, matrix->columns);
        factors.b = factor(adapter->numbers_, matrix->rows, of_rank);
        adapter->factors_.emplace(matrix->name, factors);
    }
    adapter->summarize(model);
    return adapter;
}

}  // namespace voltpile::llm
