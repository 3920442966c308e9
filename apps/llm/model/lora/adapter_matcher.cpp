#include "llm/model/lora/adapter_matcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "llm/model/byte_cursor.h"
#include "llm/model/expert_tensors.h"
#include "llm/model/fused_tensors.h"
#include "llm/model/lora/lora_adapter.h"
#include "llm/model/model_family.h"
#include "llm/model/tensor_names.h"

namespace voltpile::llm {
namespace {

constexpr std::array<std::string_view, 12> kAdaptable = {
    "attn_q.weight",         "attn_k.weight",       "attn_v.weight",
    "attn_output.weight",    "ffn_gate.weight",     "ffn_up.weight",
    "ffn_down.weight",       "ffn_gate_inp.weight", "ffn_gate_inp_shexp.weight",
    "ffn_gate_shexp.weight", "ffn_up_shexp.weight", "ffn_down_shexp.weight"};
constexpr std::string_view kStackEnding = "_exps.weight";

// Returns a canonical name behind "blk.N."; empty for others.
std::string_view in_layer(std::string_view name) {
    if (!name.starts_with("blk.")) return {};
    const std::size_t dot = name.find('.', 4);
    return dot == std::string_view::npos ? std::string_view() : name.substr(dot + 1);
}

}  // namespace

bool can_adapt(const ModelConfig& config, const ModelTensor& tensor) {
    if (tensor.layer < 0) return false;
    if (tensor.expert >= 0) return true;
    const std::string_view end = in_layer(tensor.name);
    // The decoder does not adapt the projections of latent attention.
    if (config.latent.kv_rank > 0 && end == "attn_q.weight") return false;
    return std::ranges::find(kAdaptable, end) != kAdaptable.end();
}

AdapterMatcher::AdapterMatcher(const ModelSource& model, bool gguf, std::vector<std::string>& problems)
    : model_(model), gguf_(gguf), problems_(problems) {
    for (const ModelTensor& tensor : model.tensors()) by_name_.emplace(tensor.name, &tensor);
}

void AdapterMatcher::add(const std::string& module, const ModuleFactors& halves, double scale,
                         Factors& factors) {
    if (!halves.a || !halves.b) return report(module, fmt::format("has only lora_{}", halves.a ? "A" : "B"));
    if (gguf_ && module.ends_with(kStackEnding)) return add_stack(module, halves, scale, factors);
    if (!usable(module, scale) || !sound(module, halves, halves.a->rows)) return;
    const std::string name = gguf_ ? module : canonical_name(module + ".weight", *model_.config().family);
    const std::vector<const ModelTensor*> matrices = matrices_of(name, halves.b->rows);
    if (matrices.empty()) return report(module, reason_of(name, halves.b->rows));
    std::size_t first_row = 0;
    for (const ModelTensor* matrix : matrices) {
        LoraFactors found{static_cast<int>(halves.a->rows), rows_from(*halves.a, 0),
                          rows_from(*halves.b, first_row), order_of(*matrix), scale};
        if (!fits(module, found, *matrix, matrices.size() == 1)) return;
        if (!put(module, matrix->name, std::move(found), factors)) return;
        first_row += matrix->rows;
    }
}

void AdapterMatcher::add(const ExpertParameter& parameter, double scale, Factors& factors) {
    if (!usable(parameter.name, scale)) return;
    const ModelConfig& config = model_.config();
    const std::vector<const char*> kinds =
        parameter.down ? std::vector{"ffn_down"} : std::vector{"ffn_gate", "ffn_up"};
    for (const char* kind : kinds)
        for (std::int64_t e = 0; e < config.experts.count; ++e)
            if (!put(parameter.name, expert_name(parameter.layer, kind, e),
                     factors_of_expert(parameter, config, kind, e, scale), factors))
                return;
}

// GGUF adapters have the factors of all experts below each other.
void AdapterMatcher::add_stack(const std::string& module, const ModuleFactors& halves, double scale,
                               Factors& factors) {
    const std::string stem = module.substr(0, module.size() - kStackEnding.size());
    const auto name_of = [&](std::int64_t expert) { return fmt::format("{}.{}.weight", stem, expert); };
    const ModelTensor* const matrix = find(name_of(0));
    if (matrix == nullptr || matrix->expert < 0) return report(module, reason_of(module, halves.b->rows));
    const auto experts = static_cast<std::size_t>(model_.config().experts.count);
    const std::size_t rank = halves.b->columns;
    if (halves.a->dimensions != 3 || halves.b->dimensions != 3)
        return report(module,
                      "needs lora_a and lora_b of three dimensions, the last of which counts experts");
    if (halves.a->outermost != experts || halves.b->outermost != experts)
        return report(module, fmt::format("has lora_a of {} experts and lora_b of {} where the model has {}",
                                          halves.a->outermost, halves.b->outermost, experts));
    if (halves.a->rows != experts * rank)
        return report(module, fmt::format("has lora_a of rank {} and lora_b of rank {}",
                                          halves.a->rows / experts, rank));
    if (!usable(module, scale) || !sound(module, halves, rank)) return;
    const std::size_t rows = halves.b->rows / experts;
    if (halves.a->columns != matrix->columns || rows != matrix->rows)
        return report(module, fmt::format("is for matrices of {} x {} where the model has {} x {}", rows,
                                          halves.a->columns, matrix->rows, matrix->columns));
    for (std::size_t e = 0; e < experts; ++e)
        if (!put(module, name_of(static_cast<std::int64_t>(e)),
                 LoraFactors{static_cast<int>(rank), rows_from(*halves.a, e * rank),
                             rows_from(*halves.b, e * rows), LoraRows::Same, scale, true},
                 factors))
            return;
}

bool AdapterMatcher::put(const std::string& module, const std::string& matrix, LoraFactors found,
                         Factors& factors) {
    if (factors.emplace(matrix, std::move(found)).second) return true;
    report(module, fmt::format("changes {}, as another module of the adapter does", matrix));
    return false;
}

void AdapterMatcher::report(const std::string& module, const std::string& what) {
    problems_.push_back(fmt::format("{} {}", printable(module), what));
}

// Reports a scale that fp32 does not hold.
bool AdapterMatcher::usable(const std::string& module, double scale) {
    if (std::isfinite(static_cast<float>(scale))) return true;
    report(module, fmt::format("has the scale {:g}, which is not a number of fp32", scale));
    return false;
}

// Reports factors of wrong types, and of ranks that are too large or differ.
bool AdapterMatcher::sound(const std::string& module, const ModuleFactors& halves, std::size_t rank) {
    const std::size_t reported = problems_.size();
    if (halves.a->element != StoredType::Weight || halves.b->element != StoredType::Weight)
        report(module, "has factors that are not in F32, F16 or BF16");
    else if (rank > static_cast<std::size_t>(kMostLoraRank))
        report(module, fmt::format("has rank {}, the most is {}", rank, kMostLoraRank));
    else if (halves.b->columns != rank)
        report(module, fmt::format("has lora_A of rank {} and lora_B of rank {}", rank, halves.b->columns));
    return problems_.size() == reported;
}

const ModelTensor* AdapterMatcher::find(const std::string& name) const {
    const auto found = by_name_.find(name);
    const bool usable = found != by_name_.end() && can_adapt(model_.config(), *found->second);
    return usable ? found->second : nullptr;
}

// Returns the model's matrix, or the parts of a fused one, in their order.
std::vector<const ModelTensor*> AdapterMatcher::matrices_of(const std::string& name, std::size_t rows) const {
    const ModelTensor* const matrix = find(name);
    if (matrix != nullptr && matrix->rows == rows) return {matrix};
    if (auto [parts, rows_of_parts] = parts_of(name); rows_of_parts == rows) return parts;
    return matrix != nullptr ? std::vector{matrix} : std::vector<const ModelTensor*>();
}

// Returns the matrices that are fused in this one, and their rows together; none if the model lacks one.
std::pair<std::vector<const ModelTensor*>, std::size_t> AdapterMatcher::parts_of(
    const std::string& name) const {
    std::vector<const ModelTensor*> parts;
    std::size_t rows = 0;
    for (const std::string& part : parts_of_fused(name)) {
        parts.push_back(find(part));
        if (parts.back() == nullptr) return {};
        rows += parts.back()->rows;
    }
    return {std::move(parts), rows};
}

// Says why the model has no matrix of this canonical name that factors with these rows can change.
std::string AdapterMatcher::reason_of(const std::string& name, std::size_t rows) const {
    if (const auto [parts, rows_of_parts] = parts_of(name); !parts.empty())
        return fmt::format("is for a matrix of {} rows where the model has {}", rows, rows_of_parts);
    const std::string_view end = in_layer(name);  // "ffn_up.17.weight"
    const std::size_t dot = end.find('.');
    std::int64_t expert = -1;
    if (dot != std::string_view::npos) std::from_chars(end.data() + dot + 1, end.data() + end.size(), expert);
    if (expert >= model_.config().experts.count && model_.config().experts.count > 0)
        return fmt::format("is of expert {} where the model has {} experts, 0 to {}", expert,
                           model_.config().experts.count, model_.config().experts.count - 1);
    return "is not one of the model's matrices that an adapter can change (those of attention, feed-forward "
           "parts, experts and their routers)";
}

bool AdapterMatcher::fits(const std::string& module, const LoraFactors& factors, const ModelTensor& matrix,
                          bool whole) {
    const StoredTensor &a = factors.a.tensor, &b = factors.b.tensor;
    if (a.columns == matrix.columns && (!whole || b.rows == matrix.rows)) return true;
    report(module, fmt::format("is for a matrix of {} x {} where the model has {} x {}", b.rows, a.columns,
                               matrix.rows, matrix.columns));
    return false;
}

// In GGUF files, queries and keys of families with interleaved RoPE are not in the order of folders.
LoraRows AdapterMatcher::order_of(const ModelTensor& matrix) const {
    const ModelConfig& config = model_.config();
    const RopeStyle of_adapter = gguf_ ? config.family->rope_in_gguf : config.family->rope_in_folder;
    const bool rotated = matrix.name.ends_with("attn_q.weight") || matrix.name.ends_with("attn_k.weight");
    if (!rotated || of_adapter == config.rope_style) return LoraRows::Same;
    return config.rope_style == RopeStyle::Interleaved ? LoraRows::ToPairs : LoraRows::ToHalves;
}

}  // namespace voltpile::llm
