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
    // model: mapped files; must outlive this.
    ImportanceOps(const ModelSource& model, const std::vector<int>& pus);

    std::unique_ptr<WeightMatrix> load_matrix(const MatrixSource& source) override;
    void matmul(HiddenRows x, std::span<const WeightMatrix* const> weights, HiddenRows out) override;
    void matmul(HiddenRows x, const WeightMatrix& weight, FloatRows out) override;
    void gated_matmul(HiddenRows x, const WeightMatrix& gate, const WeightMatrix& up, Activation activation,
                      HiddenRows out) override;
    void gated_experts(HiddenRows x, const ExpertWeights& gate, const ExpertWeights& up,
                       Activation activation, const Routing& routing, HiddenRows out) override;
    void sum_experts(HiddenRows x, const ExpertWeights& down, const Routing& routing, FloatRows out) override;

    // Returns the mean squares of each matrix's columns, under the names of GGUF files. With n rows, a column
    // counts as if one more row had had the mean of all columns, so that none is free; experts without rows
    // have 1 everywhere.
    ImportanceMatrix importance() const;

  private:
    struct Sums {
        const ModelTensor* tensor = nullptr;
        std::vector<double> squares;  // (columns)
        std::int64_t rows = 0;
    };
    void add_row(const WeightMatrix& weight, const float* x);
    void add_rows(const WeightMatrix& weight, const HiddenRows& x);
    static std::vector<float> means(const Sums& sums);

    const ModelSource& model_;
    std::map<const std::byte*, const ModelTensor*> tensor_at_;  // by the place of its data
    std::map<const WeightMatrix*, Sums> sums_;
};

}  // namespace voltpile::llm
