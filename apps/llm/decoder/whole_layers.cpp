#include "llm/decoder/whole_layers.h"

namespace voltpile::llm {
WholeLayers::WholeLayers(const WeightLoader& loader, DecoderLinks& links, int rank, int ranks,
                         std::int64_t rows)
    : config_(loader.model().config()),
      ops_(loader.ops()),
      exchange_(ops_, links, head_exchange_shape(config_, rank, ranks, rows)),
      projection_buffers_(ops_, config_, make_order_buffer(loader.model(), ops_, joint_share(rows, ranks)),
                          joint_share(rows, ranks), config_.heads),
      feed_forward_buffers_(ops_, config_, loader.share(), projection_buffers_.order,
                            joint_share(rows, ranks), {}) {
    const std::int64_t share = joint_share(rows, ranks);
    const auto hidden = [&](std::int64_t columns) {
        return ops_.allocate(static_cast<std::size_t>(share * columns) * bytes_of(ops_.hidden_element()));
    };
    hidden_ = hidden(config_.hidden);
    qkv_ = hidden((config_.heads + 2 * config_.kv_heads) * config_.head_dim);
}

void WholeLayers::load(const WeightLoader& loader, int layer) {
    layers_.push_back({AttentionMatrices(loader, layer), load_feed_forward(loader, layer)});
}

HiddenRows WholeLayers::project(int layer, const RmsNorm& input, std::int64_t rows, SentinelPlace place) {
    const HiddenRows qkv{qkv_->data(), input.out.rows,
                         (config_.heads + 2 * config_.kv_heads) * config_.head_dim};
    at(layer).attention.project(ops_, input, projection_buffers_, place, qkv);
    return exchange_.to_heads(qkv, rows);
}

void WholeLayers::output(int layer, std::int64_t rows, FloatRows out) {
    ops_.matmul(exchange_.to_rows(rows), *at(layer).attention.o, out);
}

void WholeLayers::feed_forward(int layer, const RmsNorm& input, const BatchView& batch, FloatRows out) const {
    at(layer).feed_forward->run(ops_, input, batch, feed_forward_buffers_, out, PartOutput::Stored);
}

}  // namespace voltpile::llm
