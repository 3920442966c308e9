#include "llm/model/lora/adapter_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "llm/model/gpu_memory.h"
#include "llm/model/lora/lora_adapter.h"

namespace voltpile::llm {
namespace {

using Names = std::vector<std::string>;

// Matrices of a layer that the decoder loads with one table: those of a group multiply the same input.
struct Table {
    std::vector<Names> groups;
    bool experts = false;
};

std::vector<Table> tables(const ModelConfig& config, const RankShare& share, bool with_experts) {
    Names router{"ffn_gate_inp.weight"};
    if (config.experts.shared_gate) router.emplace_back("ffn_gate_inp_shexp.weight");
    std::vector<Table> tables = {{{{"attn_q.weight", "attn_k.weight", "attn_v.weight"}}},
                                 {{{"attn_output.weight"}}},
                                 {{{"ffn_gate.weight", "ffn_up.weight"}}},
                                 {{{"ffn_down.weight"}}},
                                 {{router}},
                                 {{{"ffn_gate_shexp.weight", "ffn_up_shexp.weight"}}},
                                 {{{"ffn_down_shexp.weight"}}}};
    if (!with_experts) return tables;
    Table gate_up{{}, true}, down{{}, true};
    for (std::size_t e = share.experts.begin; e < share.experts.end; ++e) {
        gate_up.groups.push_back({fmt::format("ffn_gate.{}.weight", e), fmt::format("ffn_up.{}.weight", e)});
        down.groups.push_back({fmt::format("ffn_down.{}.weight", e)});
    }
    tables.push_back(std::move(gate_up));
    tables.push_back(std::move(down));
    return tables;
}

// The largest rank of an adapter in the matrices of a layer; 0: it changes none of them.
std::uint64_t rank_of(const LoraAdapter& adapter, std::int64_t layer, const Names& names) {
    std::uint64_t rank = 0;
    for (const std::string& name : names)
        if (const LoraFactors* factors = adapter.factors(fmt::format("blk.{}.{}", layer, name)))
            rank = std::max(rank, static_cast<std::uint64_t>(factors->rank));
    return rank;
}

// The bytes of factors with the rank for matrices of a layer.
std::uint64_t factor_bytes(const ModelSource& model, WeightLayout layout, const RankShare& share,
                           std::int64_t layer, const Names& names, std::uint64_t rank) {
    std::uint64_t extent = 0;  // rows and columns of all matrices
    for (const std::string& name : names) {
        const TensorSlice slice = tensor_shard(model, model.layer_tensor(layer, name), share).stored;
        extent += slice.rows() + slice.columns();
    }
    return layout == WeightLayout::Gpu ? gpu_piece_bytes(2 * ((rank + 7) / 8 * 8) * extent)
                                       : 4 * rank * extent;
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

AdapterBytes adapter_bytes(const ModelSource& model, WeightLayout layout, const RankShare& share,
                           std::int64_t layer) {
    AdapterBytes bytes;
    for (const Table& table : tables(model.config(), share, adapts_experts(model.adapters()))) {
        std::uint64_t of_table = 0;
        for (const auto& adapter : model.adapters())
            for (const Names& names : table.groups)
                if (const std::uint64_t rank = rank_of(*adapter, layer, names); rank > 0)
                    of_table += factor_bytes(model, layout, share, layer, names, rank);
        if (of_table > 0 && layout == WeightLayout::Gpu)
            of_table += gpu_piece_bytes(model.adapters().size() * table.groups.size() * adapter_entry_bytes);
        (table.experts ? bytes.experts : bytes.others) += of_table;
    }
    return bytes;
}

}  // namespace voltpile::llm
