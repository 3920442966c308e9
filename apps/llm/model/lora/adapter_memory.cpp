#include "llm/model/lora/adapter_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "llm/model/lora/lora_adapter.h"

namespace voltpile::llm {
namespace {

using Names = std::vector<std::string>;

// The matrices of a layer that multiply the same input, as the decoder loads them.
std::vector<Names> groups(const ModelConfig& config, const RankShare& share, bool with_experts) {
    std::vector<Names> groups = {{"attn_q.weight", "attn_k.weight", "attn_v.weight"},
                                 {"attn_output.weight"},
                                 {"ffn_gate.weight", "ffn_up.weight"},
                                 {"ffn_down.weight"},
                                 {"ffn_gate_inp.weight"},
                                 {"ffn_gate_shexp.weight", "ffn_up_shexp.weight"},
                                 {"ffn_down_shexp.weight"}};
    if (config.experts.shared_gate) groups[4].emplace_back("ffn_gate_inp_shexp.weight");
    for (std::size_t e = share.experts.begin; with_experts && e < share.experts.end; ++e) {
        groups.push_back({fmt::format("ffn_gate.{}.weight", e), fmt::format("ffn_up.{}.weight", e)});
        groups.push_back({fmt::format("ffn_down.{}.weight", e)});
    }
    return groups;
}

}  // namespace

AdapterBuffers adapter_buffers(const ModelSource& model) {
    AdapterBuffers buffers;
    for (const auto& adapter : model.adapters()) {
        buffers.added_to_experts |= adapter->changes_expert_gates();
        for (std::int64_t layer = 0; layer < model.config().layers; ++layer)
            for (const char* ending : {"", "_shexp"})
                for (const char* matrix : {"gate", "up"})
                    buffers.gates_apart |= adapter->factors(fmt::format("blk.{}.ffn_{}{}.weight", layer,
                                                                        matrix, ending)) != nullptr;
    }
    return buffers;
}

bool adapts_experts(const ModelSource::Adapters& adapters) {
    return std::ranges::any_of(adapters, [](const auto& adapter) { return adapter->changes_experts(); });
}

std::uint64_t adapter_bytes(const ModelSource& model, WeightLayout layout, const RankShare& share,
                            std::int64_t layer) {
    const std::vector<Names> all = groups(model.config(), share, adapts_experts(model.adapters()));
    std::uint64_t bytes = 0;
    for (const auto& adapter : model.adapters())
        for (const Names& names : all) {
            std::uint64_t rank = 0;
            for (const std::string& name : names)
                if (const LoraFactors* factors = adapter->factors(fmt::format("blk.{}.{}", layer, name)))
                    rank = std::max(rank, static_cast<std::uint64_t>(factors->rank));
            if (rank == 0) continue;
            std::uint64_t extent = 0;  // rows and columns of all matrices
            for (const std::string& name : names) {
                const TensorSlice slice = tensor_shard(model, model.layer_tensor(layer, name), share).stored;
                extent += slice.rows() + slice.columns();
            }
            const std::uint64_t padded = (rank + 7) / 8 * 8;
            bytes += layout == WeightLayout::Gpu ? 2 * padded * extent : 4 * rank * extent;
        }
    return bytes;
}

}  // namespace voltpile::llm
