// A model's description and weights, from files or made up: what the engine loads from.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "llm/model/model_config.h"
#include "llm/model/model_tensor.h"

namespace voltpile::llm {

class ModelSource {
  public:
    virtual ~ModelSource() = default;
    ModelSource(const ModelSource&) = delete;
    ModelSource& operator=(const ModelSource&) = delete;

    const ModelConfig& config() const { return config_; }
    const std::vector<ModelTensor>& tensors() const { return tensors_; }  // in the order of tensor_table()

    // By canonical name. Throws std::out_of_range for a tensor that models of this description do not have.
    const ModelTensor& tensor(std::string_view name) const;
    const ModelTensor& layer_tensor(std::int64_t layer,
                                    std::string_view name) const;  // name: "attn_q.weight"
    const ModelTensor& head() const;  // output.weight, or with tied embeddings token_embd.weight

    // Copies the rectangle, row after row without gaps, to `out`: slice.bytes(tensor.format) bytes. May be
    // called from several threads.
    virtual void read(const ModelTensor& tensor, const TensorSlice& slice, std::byte* out) const = 0;

    // 32 hexadecimal digits, the same on all nodes that have the same model. Quick: weights are sampled.
    virtual std::string fingerprint() const = 0;

  protected:
    ModelSource(ModelConfig config, std::vector<ModelTensor> tensors);

  private:
    ModelConfig config_;
    std::vector<ModelTensor> tensors_;
    std::vector<std::pair<std::string_view, std::size_t>> by_name_;  // sorted; indices into tensors_
};

}  // namespace voltpile::llm
