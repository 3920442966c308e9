#include "llm/model/lora/adapter_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "llm/model/lora/lora_adapter.h"

namespace voltpile::llm {
namespace {

// The matrices that multiply the same input, as the decoder loads them.
using Names = std::vector<std::string_view>;
const std::array<Names, 4>& groups() {
    static const std::array<Names, 4> kGroups = {{{"attn_q.weight", "attn_k.weight", "attn_v.weight"},
                                                  {"attn_output.weight"},
                                                  {"ffn_gate.weight", "ffn_up.weight"},
                                                  {"ffn_down.weight"}}};
    return kGroups;
}

}  // namespace

bool gates_apart(const ModelSource& model) {
    for (const auto& adapter : model.adapters())
        for (std::int64_t layer = 0; layer < model.config().layers; ++layer)
            for (const std::string_view name : {"ffn_gate.weight", "ffn_up.weight"})
                if (adapter->factors(fmt::format("blk.{}.{}", layer, name)) != nullptr) return true;
    return false;
}

std::uint64_t adapter_bytes(const ModelSource& model, WeightLayout layout, const RankShare& share,
                            std::int64_t layer) {
    std::uint64_t bytes = 0;
    for (const auto& adapter : model.adapters())
        for (const Names& names : groups()) {
            std::uint64_t rank = 0;
            for (const std::string_view name : names)
                if (const LoraFactors* factors = adapter->factors(fmt::format("blk.{}.{}", layer, name)))
                    rank = std::max(rank, static_cast<std::uint64_t>(factors->rank()));
            if (rank == 0) continue;
            std::uint64_t extent = 0;  // rows and columns of all matrices
            for (const std::string_view name : names) {
                const TensorSlice slice = tensor_shard(model, model.layer_tensor(layer, name), share).stored;
                extent += slice.rows() + slice.columns();
            }
            const std::uint64_t padded = (rank + 7) / 8 * 8;
            bytes += layout == WeightLayout::Gpu ? 2 * padded * extent : 4 * rank * extent;
        }
    return bytes;
}

}  // namespace voltpile::llm
