#include "llm/model/integer_copies.h"

#include <algorithm>
#include <string>
#include <vector>

#include "llm/model/gpu_memory.h"
#include "llm/model/tensor_parallel.h"

namespace voltpile::llm {
namespace {

std::uint64_t bytes_of_layer(const ModelSource& model, const RankShare& share, std::int64_t layer,
                             std::int64_t most_columns) {
    const ModelConfig& config = model.config();
    std::uint64_t all = 0;
    const auto add = [&](const std::vector<std::string>& names, bool gated) {
        std::vector<std::int64_t> rows;
        std::int64_t columns = 0;
        for (const std::string& name : names) {
            const ModelTensor& tensor = model.layer_tensor(layer, name);
            if (gpu_format(tensor.format) == WeightFormat::F16) return;
            const TensorSlice slice = tensor_shard(model, tensor, share).stored;
            rows.push_back(static_cast<std::int64_t>(slice.rows()));
            columns = static_cast<std::int64_t>(slice.columns());
        }
        if (columns <= most_columns) all += integer_copy_bytes(rows, columns, gated);
    };
    const auto add_feed_forward = [&](const std::string& ending) {
        add({"ffn_gate" + ending, "ffn_up" + ending}, true);
        add({"ffn_down" + ending}, false);
    };
    if (config.latent.kv_rank == 0)
        add({"attn_q.weight", "attn_k.weight", "attn_v.weight"}, false);
    else
        add({config.latent.q_rank > 0 ? "attn_q_b.weight" : "attn_q.weight"}, false);
    add({"attn_output.weight"}, false);
    if (!has_experts(config, layer))
        add_feed_forward(".weight");
    else if (config.experts.shared_ffn > 0)
        add_feed_forward("_shexp.weight");
    return all;
}

}  // namespace

std::uint64_t integer_bytes(const ModelSource& model, int layer_begin, int layer_end, int ranks,
                            std::int64_t most_columns) {
    std::vector<RankShare> shares;
    for (int rank = 0; rank < ranks; ++rank) shares.push_back(rank_share(model, rank, ranks));
    std::uint64_t all = 0;
    for (int layer = layer_begin; layer < layer_end; ++layer) {
        std::uint64_t most = 0;
        for (const RankShare& share : shares)
            most = std::max(most, bytes_of_layer(model, share, layer, most_columns));
        all += most;
    }
    return all;
}

}  // namespace voltpile::llm
