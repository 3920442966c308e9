#include "llm/quantize/importance_ops.h"

#include <fmt/format.h>

#include <algorithm>

namespace voltpile::llm {
namespace {

const float* row_of(const HiddenRows& x, std::int64_t row) {
    return static_cast<const float*>(x.data) + row * x.columns;
}

// "ffn_up" of "blk.3.ffn_up.17.weight"
std::string_view kind_of_expert(std::string_view name) {
    const std::size_t begin = name.find('.', 4) + 1;
    return name.substr(begin, name.find('.', begin) - begin);
}

// Matrices in MXFP4 are copied.
bool is_quantized(const ModelTensor& tensor) {
    return tensor.format != WeightFormat::MXFP4;
}

}  // namespace

ImportanceOps::ImportanceOps(const ModelSource& model, const std::vector<int>& pus)
    : CpuOps(pus), model_(model) {
    for (const ModelTensor& tensor : model_.tensors())
        if (tensor.rows > 1 && tensor.data != nullptr && is_quantized(tensor))
            tensor_at_.emplace(tensor.data, &tensor);
}

void ImportanceOps::TracedModel::read(const ModelTensor& tensor, const TensorSlice& slice,
                                      std::byte* out) const {
    model_.read(tensor, slice, out);
    const bool is_matrix = tensor.packed != nullptr && tensor.expert >= 0 && is_quantized(tensor);
    tensor_ = is_matrix ? &tensor : nullptr;
    out_ = is_matrix ? out : nullptr;
}

std::unique_ptr<WeightMatrix> ImportanceOps::load_matrix(const MatrixSource& source) {
    auto matrix = CpuOps::load_matrix(source);
    const auto mapped = tensor_at_.find(source.data);
    const ModelTensor* tensor = mapped != tensor_at_.end() ? mapped->second : model_.read_to(source.data);
    if (tensor != nullptr)
        sums_[matrix.get()] = {tensor, std::vector<double>(static_cast<std::size_t>(source.columns)), 0};
    return matrix;
}

void ImportanceOps::add_row(const WeightMatrix& weight, const float* x) {
    const auto found = sums_.find(&weight);
    if (found == sums_.end()) return;
    Sums& sums = found->second;
    ++sums.rows;
    for (std::size_t c = 0; c < sums.squares.size(); ++c) sums.squares[c] += double{x[c]} * x[c];
}

void ImportanceOps::add_rows(const WeightMatrix& weight, const HiddenRows& x) {
    for (std::int64_t row = 0; row < x.rows; ++row) add_row(weight, row_of(x, row));
}

void ImportanceOps::matmul(HiddenRows x, std::span<const WeightMatrix* const> weights, HiddenRows out) {
    for (const WeightMatrix* weight : weights) add_rows(*weight, x);
    CpuOps::matmul(x, weights, out);
}

void ImportanceOps::matmul(HiddenRows x, const WeightMatrix& weight, FloatRows out) {
    add_rows(weight, x);
    CpuOps::matmul(x, weight, out);
}

void ImportanceOps::add_matmul(HiddenRows x, const WeightMatrix& weight, const float* bias, FloatRows out) {
    add_rows(weight, x);
    CpuOps::add_matmul(x, weight, bias, out);
}

void ImportanceOps::gated_matmul(HiddenRows x, const WeightMatrix& gate, const WeightMatrix& up,
                                 Activation activation, HiddenRows out) {
    add_rows(gate, x);
    add_rows(up, x);
    CpuOps::gated_matmul(x, gate, up, activation, out);
}

void ImportanceOps::gated_experts(HiddenRows x, const ExpertWeights& gate, const ExpertWeights& up,
                                  Activation activation, const Routing& routing, const float* added,
                                  HiddenRows out) {
    for (int expert = 0; expert < routing.experts; ++expert) {
        for (std::int32_t i = routing.begin[expert]; i < routing.begin[expert + 1]; ++i) {
            add_row(gate.of(expert), row_of(x, routing.row[i]));
            add_row(up.of(expert), row_of(x, routing.row[i]));
        }
    }
    CpuOps::gated_experts(x, gate, up, activation, routing, added, out);
}

void ImportanceOps::sum_experts(HiddenRows x, const ExpertWeights& down, const Routing& routing,
                                FloatRows out) {
    for (int expert = 0; expert < routing.experts; ++expert)
        for (std::int32_t i = routing.begin[expert]; i < routing.begin[expert + 1]; ++i)
            add_row(down.of(expert), row_of(x, i));
    CpuOps::sum_experts(x, down, routing, out);
}

std::vector<float> ImportanceOps::means(const Sums& sums) {
    std::vector<float> means(sums.squares.size(), 1);
    if (sums.rows == 0) return means;
    double all = 0;
    for (const double square : sums.squares) all += square;
    const auto rows = static_cast<double>(sums.rows);
    const double mean = all / rows / static_cast<double>(sums.squares.size());
    if (mean == 0) return means;
    for (std::size_t c = 0; c < means.size(); ++c)
        means[c] = static_cast<float>((sums.squares[c] + mean) / (rows + 1));
    return means;
}

ImportanceMatrix ImportanceOps::importance() const {
    ImportanceMatrix result;
    const auto experts = static_cast<std::size_t>(model_.config().experts.count);
    for (const auto& [matrix, sums] : sums_) {
        const std::vector<float> of_matrix = means(sums);
        const ModelTensor& tensor = *sums.tensor;
        if (tensor.expert < 0) {
            if (sums.rows > 0) result.columns[tensor.name] = of_matrix;
            continue;
        }
        auto& stack =
            result.columns[fmt::format("blk.{}.{}_exps.weight", tensor.layer, kind_of_expert(tensor.name))];
        stack.resize(experts * of_matrix.size());
        std::ranges::copy(of_matrix, stack.begin() + tensor.expert * std::ssize(of_matrix));
    }
    // Files of some families have Q, K and V, which multiply the same, in one tensor.
    for (std::int64_t layer = 0; layer < model_.config().layers; ++layer)
        if (const auto q = result.columns.find(fmt::format("blk.{}.attn_q.weight", layer));
            q != result.columns.end())
            result.columns[fmt::format("blk.{}.attn_qkv.weight", layer)] = q->second;
    return result;
}

}  // namespace voltpile::llm
