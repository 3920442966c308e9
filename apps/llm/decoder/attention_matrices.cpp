#include "llm/decoder/attention_matrices.h"

#include <utility>

namespace voltpile::llm {

ProjectionBuffers::ProjectionBuffers(Ops& ops, const ModelConfig& config, std::shared_ptr<OpsMemory> of_order,
                                     std::int64_t rows, std::int64_t heads)
    : order(std::move(of_order)) {
    if (config.latent.kv_rank > 0) latent = std::make_unique<LatentBuffers>(ops, config, rows, heads);
}

AttentionMatrices::AttentionMatrices(const WeightLoader& loader, int layer) {
    const auto matrix = [&](const char* name) {
        return loader.matrix(loader.model().layer_tensor(layer, name));
    };
    if (loader.model().config().latent.kv_rank > 0) {
        latent = std::make_unique<LatentProjections>(loader, layer);
    } else {
        order = InputOrder(loader, loader.model().layer_tensor(layer, "attn_q.weight"));
        q = matrix("attn_q.weight");
        k = matrix("attn_k.weight");
        v = matrix("attn_v.weight");
        WeightMatrix* const all[] = {q.get(), k.get(), v.get()};
        loader.ops().allow_integers(all, false);
    }
    o = matrix("attn_output.weight");
    WeightMatrix* const output[] = {o.get()};
    loader.ops().allow_integers(output, false);
}

void AttentionMatrices::project(Ops& ops, const RmsNorm& input, const ProjectionBuffers& buffers,
                                SentinelPlace place, HiddenRows qkv) const {
    if (latent) return latent->project(ops, ops.normed(input), *buffers.latent, place, qkv);
    const WeightMatrix* const weights[] = {q.get(), k.get(), v.get()};
    ops.norm_matmul(order.ordered(ops, input, buffers.order), weights, qkv);
}

}  // namespace voltpile::llm
