#include "llm/model/model_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "base/error.h"
#include "job/fingerprint.h"
#include "llm/model/lora/lora_adapter.h"
#include "llm/model/model_family.h"

namespace voltpile::llm {

ModelSource::ModelSource(ModelConfig config, std::vector<ModelTensor> tensors)
    : config_(std::move(config)), tensors_(std::move(tensors)) {
    for (std::size_t i = 0; i < tensors_.size(); ++i) by_name_.emplace_back(tensors_[i].name, i);
    std::ranges::sort(by_name_);
}

const ModelTensor& ModelSource::tensor(std::string_view name) const {
    const auto found =
        std::ranges::lower_bound(by_name_, name, {}, [](const auto& entry) { return entry.first; });
    if (found == by_name_.end() || found->first != name)
        throw std::out_of_range(fmt::format("the model has no tensor {}", name));
    return tensors_[found->second];
}

const ModelTensor& ModelSource::layer_tensor(std::int64_t layer, std::string_view name) const {
    return tensor(fmt::format("blk.{}.{}", layer, name));
}

const ModelTensor& ModelSource::head() const {
    return tensor(config_.tied_embeddings ? "token_embd.weight" : "output.weight");
}

std::unique_ptr<ModelSource> ModelSource::prediction_layers() const {
    throw JobError(
        fmt::format("this {} model has no layer that predicts further tokens", config_.family->name));
}

void ModelSource::attach(Adapters adapters) {
    const auto sorted = [](const ModelTensor& tensor) { return !tensor.column_order.empty(); };
    if (!adapters.empty() && std::ranges::any_of(tensors_, sorted))
        throw std::logic_error("adapters need the model's own order of columns");
    adapters_ = std::move(adapters);
}

std::string ModelSource::fingerprint_with_adapters() const {
    if (adapters_.empty()) return fingerprint();
    std::string text = fingerprint();
    for (const auto& adapter : adapters_)
        text += fmt::format("\n{} {}", adapter->name(), adapter->fingerprint());
    return hash_128(text);
}

}  // namespace voltpile::llm
