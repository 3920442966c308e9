#include "llm/model/fused_tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>
#include <unordered_map>

namespace voltpile::llm {
namespace {

// Parts are in their order in the file.
struct Fused {
    std::string_view name;
    std::vector<std::string_view> parts;
};
const std::vector<Fused>& fused_tensors() {
    static const std::vector<Fused> kFused = {
        {"attn_qkv.weight", {"attn_q.weight", "attn_k.weight", "attn_v.weight"}},
        {"attn_qkv.bias", {"attn_q.bias", "attn_k.bias", "attn_v.bias"}},
        {"ffn_up.weight", {"ffn_gate.weight", "ffn_up.weight"}}};
    return kFused;
}

void divide(TensorFiles& files, const std::string& name, std::span<const ModelTensor* const> parts) {
    const auto found = files.tensors.find(name);
    if (found == files.tensors.end()) return;
    const StoredTensor whole = found->second;
    const bool vectors = parts.front()->rows == 1;
    std::uint64_t extent = 0;
    for (const ModelTensor* part : parts) {
        if (files.tensors.contains(part->name) && part->name != name) return;  // not fused
        extent += vectors ? part->columns : part->rows;
    }
    if (extent != (vectors ? whole.columns : whole.rows) ||
        (!vectors && parts.front()->columns != whole.columns))
        return;
    const int file = files.file_of.at(name);
    files.tensors.erase(found);
    files.file_of.erase(name);
    std::uint64_t begin = 0, row = 0;
    for (const ModelTensor* part : parts) {
        StoredTensor stored = whole;
        stored.rows = part->rows;
        stored.columns = part->columns;
        stored.bytes = part->rows * row_bytes(whole.format, part->columns);
        if (whole.packed != nullptr) {
            stored.packed_row += row;
        } else {
            stored.data = whole.data + begin;
            stored.offset = whole.offset + begin;
        }
        begin += stored.bytes;
        row += stored.rows;
        files.tensors.emplace(part->name, stored);
        files.file_of.emplace(part->name, file);
    }
}

}  // namespace

void divide_fused_tensors(TensorFiles& files, const std::vector<ModelTensor>& table) {
    std::set<int> layers;
    std::unordered_map<std::string_view, const ModelTensor*> by_name;
    for (const ModelTensor& tensor : table) {
        by_name.emplace(tensor.name, &tensor);
        if (tensor.layer >= 0) layers.insert(tensor.layer);
    }
    const auto find = [&](const std::string& name) {
        const auto found = by_name.find(name);
        return found == by_name.end() ? nullptr : found->second;
    };
    for (const int layer : layers)
        for (const Fused& fused : fused_tensors()) {
            std::vector<const ModelTensor*> parts;
            for (const std::string_view part : fused.parts)
                parts.push_back(find(fmt::format("blk.{}.{}", layer, part)));
            if (std::ranges::find(parts, nullptr) != parts.end()) continue;
            divide(files, fmt::format("blk.{}.{}", layer, fused.name), parts);
        }
}

std::vector<std::string> parts_of_fused(std::string_view tensor) {
    for (const Fused& fused : fused_tensors()) {
        if (!tensor.ends_with(fused.name)) continue;
        std::vector<std::string> parts;
        for (const std::string_view part : fused.parts)
            parts.push_back(fmt::format("{}{}", tensor.substr(0, tensor.size() - fused.name.size()), part));
        return parts;
    }
    return {};
}

}  // namespace voltpile::llm
