#include "llm/model/expert_tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "llm/model/tensor_names.h"

namespace voltpile::llm {
namespace {

constexpr std::array<std::string_view, 3> kKinds = {"ffn_gate", "ffn_up", "ffn_down"};

std::string stacked_name(std::int64_t layer, std::string_view kind) {
    return fmt::format("blk.{}.{}_exps.weight", layer, kind);
}

std::string_view kind_of(std::string_view name) {
    return *std::ranges::find_if(kKinds, [&](std::string_view kind) {
        return name.find(fmt::format(".{}", kind)) != std::string_view::npos;
    });
}

void unstack(const ModelConfig& config, std::int64_t layer, std::string_view kind, TensorFiles& files) {
    const std::string name = stacked_name(layer, kind);
    const auto found = files.tensors.find(name);
    if (found == files.tensors.end()) return;
    const StoredTensor stack = found->second;
    const int file = files.file_of.at(name);
    const auto experts = static_cast<std::uint64_t>(config.experts.count);
    const auto ffn = static_cast<std::uint64_t>(config.experts.ffn);
    const auto hidden = static_cast<std::uint64_t>(config.hidden);
    const std::uint64_t rows = kind == "ffn_down" ? hidden : ffn, columns = kind == "ffn_down" ? ffn : hidden;
    if (stack.rows != experts * rows || stack.columns != columns)
        throw FileError(
            fmt::format("{}: {} has {} rows of {} weights, not {} rows of {} ({} experts with matrices of {} "
                        "x {})",
                        files.files[static_cast<std::size_t>(file)]->path(), name, stack.rows, stack.columns,
                        experts * rows, columns, experts, rows, columns),
            ExitCode::BadInput);
    files.tensors.erase(found);
    files.file_of.erase(name);
    StoredTensor one = stack;
    one.dimensions = 2;
    one.rows = rows;
    one.bytes = stack.bytes / experts;
    for (std::int64_t e = 0; e < config.experts.count; ++e) {
        files.tensors.emplace(expert_name(layer, kind, e), one);
        files.file_of.emplace(expert_name(layer, kind, e), file);
        one.data += one.bytes;
        one.offset += one.bytes;
    }
}

}  // namespace

std::string expert_name(std::int64_t layer, std::string_view kind, std::int64_t expert) {
    return fmt::format("blk.{}.{}.{}.weight", layer, kind, expert);
}

void unstack_experts(const ModelConfig& config, TensorFiles& files) {
    if (config.experts.count == 0) return;
    for (std::int64_t layer = 0; layer < config.layers; ++layer)
        for (const std::string_view kind : kKinds) unstack(config, layer, kind, files);
}

std::string stacked_name(const ModelTensor& first) {
    return stacked_name(first.layer, kind_of(first.name));
}

std::vector<ModelTensor> stacked_tensors(const ModelSource& model) {
    std::vector<ModelTensor> tensors;
    for (const ModelTensor& tensor : model.tensors()) {
        if (tensor.expert > 0) continue;
        ModelTensor& stack = tensors.emplace_back(tensor);
        stack.name = gguf_name(tensor.name, *model.config().family);
        if (tensor.expert < 0) continue;
        stack.name = stacked_name(tensor);
        stack.matrices = static_cast<std::size_t>(model.config().experts.count);
        stack.rows *= stack.matrices;
    }
    return tensors;
}

void check_experts_on_gpus(const ModelSource& model) {
    for (const ModelTensor& gate : model.tensors()) {
        if (gate.expert != 0 || kind_of(gate.name) != kKinds[0]) continue;
        const ModelTensor& up = model.tensor(expert_name(gate.layer, kKinds[1], 0));
        if (gpu_format(gate.format) != gpu_format(up.format))
            throw JobError(
                fmt::format("{} is {} and {} is {}: GPUs need one format for both; set device = cpu",
                            gate.name, name(gate.format), up.name, name(up.format)));
    }
}

void read_stacked(const ModelSource& model, const ModelTensor& tensor, std::size_t row_begin,
                  std::size_t row_end, std::byte* out) {
    if (tensor.matrices == 1) {
        const ModelTensor& canonical =
            model.tensor(canonical_name_of_gguf(tensor.name, *model.config().family));
        return model.read(canonical, {row_begin, row_end, 0, tensor.columns}, out);
    }
    const std::size_t rows = tensor.rows / tensor.matrices;
    while (row_begin < row_end) {
        const std::size_t expert = row_begin / rows, begin = row_begin % rows;
        const TensorSlice slice{begin, std::min(rows, begin + row_end - row_begin), 0, tensor.columns};
        const std::string name =
            expert_name(tensor.layer, kind_of(tensor.name), static_cast<std::int64_t>(expert));
        model.read(model.tensor(name), slice, out);
        out += slice.bytes(tensor.format);
        row_begin += slice.rows();
    }
}

}  // namespace voltpile::llm
