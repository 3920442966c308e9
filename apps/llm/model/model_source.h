// The interface to a model's description and weights, from files or synthetic.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "llm/model/model_config.h"
#include "llm/model/model_tensor.h"

namespace voltpile::llm {

class LoraAdapter;

class ModelSource {
  public:
    virtual ~ModelSource() = default;
    ModelSource(const ModelSource&) = delete;
    ModelSource& operator=(const ModelSource&) = delete;

    const ModelConfig& config() const { return config_; }
    const std::vector<ModelTensor>& tensors() const { return tensors_; }  // in the order of tensor_table()

    // Returns a tensor by its canonical name. Throws std::out_of_range if models of this description lack it.
    const ModelTensor& tensor(std::string_view name) const;
    // name: without the layer, such as "attn_q.weight".
    const ModelTensor& layer_tensor(std::int64_t layer, std::string_view name) const;
    const ModelTensor& head() const;  // output.weight, or token_embd.weight if embeddings are tied

    // Copies a slice to `out`, row after row without gaps: slice.bytes(tensor.format) bytes. Thread-safe.
    virtual void read(const ModelTensor& tensor, const TensorSlice& slice, std::byte* out) const = 0;

    // Returns 32 hexadecimal digits, the same on all nodes that have the same model. Fast, because it samples
    // the weights.
    virtual std::string fingerprint() const = 0;

    // Opens the prediction layers, see prediction_layer.h. The model must outlive it. Throws JobError
    // for a model without such layers, and FileError as ModelFiles does if its tensors are not complete.
    virtual std::unique_ptr<ModelSource> prediction_layers() const;

    // Adapters that requests can choose, see lora/lora_adapter.h. Attach them before the model is planned,
    // and only if no tensor has a column_order: throws std::logic_error.
    using Adapters = std::vector<std::shared_ptr<const LoraAdapter>>;
    const Adapters& adapters() const { return adapters_; }
    void attach(Adapters adapters);
    // The fingerprint of the model together with its adapters: fingerprint() if there are none.
    std::string fingerprint_with_adapters() const;

  protected:
    ModelSource(ModelConfig config, std::vector<ModelTensor> tensors);

  private:
    ModelConfig config_;
    std::vector<ModelTensor> tensors_;
    Adapters adapters_;
    std::vector<std::pair<std::string_view, std::size_t>>
        by_name_;  // sorted names with indices into tensors_
};

}  // namespace voltpile::llm
