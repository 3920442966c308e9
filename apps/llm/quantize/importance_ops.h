// The operations on CPUs, which also sum the squares of what each matrix multiplies.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "llm/model/model_source.h"
#include "llm/ops/cpu/cpu_ops.h"
#include "llm/quantize/importance.h"

namespace voltpile::llm {

class ImportanceOps final : public CpuOps {
  public:
    // model: files; must outlive this.
    ImportanceOps(const ModelSource& model, const std::vector<int>& pus);

    // Returns the model to load with these operations. It notes which packed matrix it read last, because the
    // place of its data does not tell.
    const ModelSource& model() const { return model_; }

    std::unique_ptr<WeightMatrix> load_matrix(const MatrixSource& source) override;
    void matmul(HiddenRows x, std::span<const WeightMatrix* const> weights, HiddenRows out) override;
    void matmul(HiddenRows x, const WeightMatrix& weight, FloatRows out) override;
    void add_matmul(HiddenRows x, const WeightMatrix& weight, const float* bias, FloatRows out) override;
    void gated_matmul(HiddenRows x, const WeightMatrix& gate, const WeightMatrix& up, Activation activation,
                      HiddenRows out) override;
    void gated_experts(HiddenRows x, const ExpertWeights& gate, const ExpertWeights& up,
                       Activation activation, const Routing& routing, const float* added,
                       HiddenRows out) override;
    void sum_experts(HiddenRows x, const ExpertWeights& down, const Routing& routing, FloatRows out) override;

    // Returns the mean squares of each matrix's columns, under the names of GGUF files. With n rows, a column
    // counts as if one more row had had the mean of all columns, so that none is free; experts without rows
    // have 1 everywhere.
    ImportanceMatrix importance() const;

  private:
    class TracedModel final : public ModelSource {
      public:
        explicit TracedModel(const ModelSource& model)
            : ModelSource(model.config(), model.tensors()), model_(model) {}
        void read(const ModelTensor& tensor, const TensorSlice& slice, std::byte* out) const override;
        std::string fingerprint() const override { return model_.fingerprint(); }
        // Returns the tensor if the last read wrote a packed matrix of an expert to `data`; otherwise null.
        const ModelTensor* read_to(const std::byte* data) const { return data == out_ ? tensor_ : nullptr; }

      private:
        const ModelSource& model_;
        mutable const ModelTensor* tensor_ = nullptr;
        mutable const std::byte* out_ = nullptr;
    };
    struct Sums {
        const ModelTensor* tensor = nullptr;
        std::vector<double> squares;  // (columns)
        std::int64_t rows = 0;
    };
    void add_row(const WeightMatrix& weight, const float* x);
    void add_rows(const WeightMatrix& weight, const HiddenRows& x);
    static std::vector<float> means(const Sums& sums);

    TracedModel model_;
    std::map<const std::byte*, const ModelTensor*> tensor_at_;  // by the place of its data, if it is mapped
    std::map<const WeightMatrix*, Sums> sums_;
};

}  // namespace voltpile::llm
