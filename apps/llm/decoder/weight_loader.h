// Loads a rank's share of a model's weights into the memory of Ops.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "llm/model/tensor_parallel.h"
#include "llm/ops/ops.h"

namespace voltpile::llm {

class WeightLoader {
  public:
    // loaded: callback with the bytes of every matrix loaded; may be empty. The matrices may refer to the
    // model's mapped files, so the model must outlive them.
    WeightLoader(const ModelSource& model, Ops& ops, const RankShare& share,
                 std::function<void(std::uint64_t)> loaded)
        : model_(model), ops_(ops), share_(share), loaded_(std::move(loaded)) {}

    // Returns a loader of the same share into the memory of other Ops.
    WeightLoader into(Ops& ops) const { return {model_, ops, share_, loaded_}; }

    const ModelSource& model() const { return model_; }
    const RankShare& share() const { return share_; }
    Ops& ops() const { return ops_; }

    std::unique_ptr<WeightMatrix> matrix(const ModelTensor& tensor) const;  // loads the rank's shard
    std::unique_ptr<WeightMatrix> matrix(const ModelTensor& tensor, const TensorSlice& slice) const;
    // Returns the numbers of the rank's shard, row after row.
    std::vector<float> vector(const ModelTensor& tensor) const;
    // Loads numbers as an F16 matrix.
    std::unique_ptr<WeightMatrix> half_matrix(const std::vector<float>& values, std::int64_t rows,
                                              std::int64_t columns) const;
    std::unique_ptr<ExpertWeights> join(std::vector<std::unique_ptr<WeightMatrix>> experts,
                                        std::unique_ptr<OpsMemory> bias) const {
        return ops_.join_experts(std::move(experts), std::move(bias));
    }
    // Whether the rank's share begins with the first elements: true on one rank of a tensor-parallel group.
    bool first_rank() const { return share_.heads.begin == 0; }
    std::unique_ptr<OpsMemory> memory(const std::vector<float>& values) const;
    std::unique_ptr<OpsMemory> vector_memory(const ModelTensor& tensor) const {
        return memory(vector(tensor));
    }

  private:
    const ModelSource& model_;
    Ops& ops_;
    RankShare share_;
    std::function<void(std::uint64_t)> loaded_;
    mutable std::vector<std::byte> made_;  // a slice of a model that is not mapped
};

}  // namespace voltpile::llm
