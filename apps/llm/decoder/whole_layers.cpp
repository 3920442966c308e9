#include "llm/decoder/whole_layers.h"

#include <utility>

namespace voltpile::llm {
WholeLayers::WholeLayers(const WeightLoader& loader, DecoderLinks& links, int rank, int ranks,
                         std::int64_t rows)
    : config_(loader.model().config()),
      ops_(loader.ops()),
      exchange_(ops_, links, head_exchange_shape(config_, rank, ranks, rows)),
      feed_forward_buffers_(ops_, config_, loader.share(), joint_share(rows, ranks), {}) {
    const std::int64_t share = joint_share(rows, ranks);
    const auto hidden = [&](std::int64_t columns) {
        return ops_.allocate(static_cast<std::size_t>(share * columns) * bytes_of(ops_.hidden_element()));
    };
    hidden_ = hidden(config_.hidden);
    qkv_ = hidden((config_.heads + 2 * config_.kv_heads) * config_.head_dim);
    if (config_.latent.kv_rank > 0)
        latent_buffers_ = std::make_unique<LatentBuffers>(ops_, config_, share, config_.heads);
}

void WholeLayers::load(const WeightLoader& loader, int layer) {
    const auto matrix = [&](const char* name) {
        return loader.matrix(loader.model().layer_tensor(layer, name));
    };
    Layer whole;
    if (config_.latent.kv_rank > 0) {
        whole.latent = std::make_unique<LatentProjections>(loader, layer);
    } else {
        whole.q = matrix("attn_q.weight");
        whole.k = matrix("attn_k.weight");
        whole.v = matrix("attn_v.weight");
        WeightMatrix* const all[] = {whole.q.get(), whole.k.get(), whole.v.get()};
        ops_.allow_integers(all, false);
    }
    whole.o = matrix("attn_output.weight");
    WeightMatrix* const output[] = {whole.o.get()};
    ops_.allow_integers(output, false);
    whole.feed_forward = load_feed_forward(loader, layer);
    layers_.push_back(std::move(whole));
}

HiddenRows WholeLayers::project(int layer, const RmsNorm& input, std::int64_t rows, SentinelPlace place) {
    const Layer& whole = at(layer);
    const HiddenRows qkv{qkv_->data(), input.out.rows,
                         (config_.heads + 2 * config_.kv_heads) * config_.head_dim};
    if (whole.latent) {
        whole.latent->project(ops_, ops_.normed(input), *latent_buffers_, place, qkv);
    } else {
        const WeightMatrix* const weights[] = {whole.q.get(), whole.k.get(), whole.v.get()};
        ops_.norm_matmul(input, weights, qkv);
    }
    return exchange_.to_heads(qkv, rows);
}

void WholeLayers::output(int layer, std::int64_t rows, FloatRows out) {
    ops_.matmul(exchange_.to_rows(rows), *at(layer).o, out);
}

void WholeLayers::feed_forward(int layer, const RmsNorm& input, const BatchView& batch, FloatRows out) const {
    at(layer).feed_forward->run(ops_, input, batch, feed_forward_buffers_, out, FeedForwardOutput::Stored);
}

}  // namespace voltpile::llm
