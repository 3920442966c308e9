// The layers of a stage with the matrices of all ranks of a tensor-parallel group, for passes that are cut by
// rows: each rank computes its share of the rows. Only attention is cut by heads in these passes too, because
// each rank's KV cache has its own heads; what it reads and writes travels between the ranks.
#pragma once

#include <memory>
#include <vector>

#include "llm/decoder/attention_matrices.h"
#include "llm/decoder/feed_forward.h"
#include "llm/decoder/head_exchange.h"

namespace voltpile::llm {

class WholeLayers {
  public:
    // Allocates the activations. loader: of all ranks' shares, as for one rank. rows: of the largest pass.
    // links must outlive this object.
    WholeLayers(const WeightLoader& loader, DecoderLinks& links, int rank, int ranks, std::int64_t rows);

    void load(const WeightLoader& loader, int layer);  // the next one

    // The rows of a pass of `rows` rows that this rank computes.
    IndexRange own(std::int64_t rows) const { return exchange_.own(rows); }
    // Where norms of this rank's rows write.
    HiddenRows normed(std::int64_t own_rows) const { return {hidden_->data(), own_rows, config_.hidden}; }

    // layer: from 0, in the order of load(). All ranks call the methods below in the same order.

    // Computes queries, keys and values of this rank's rows. Returns those of its heads for all rows of the
    // pass. place: of a norm that is not finite.
    HiddenRows project(int layer, const RmsNorm& input, std::int64_t rows, SentinelPlace place);
    // Where attention writes, (rows, this rank's heads * size of a value).
    HiddenRows attended(std::int64_t rows) const { return exchange_.attended(rows); }
    // Computes the output of attention for this rank's rows from attended() of all ranks.
    void output(int layer, std::int64_t rows, FloatRows out);
    // The feed-forward part of this rank's rows. batch: of these rows.
    void feed_forward(int layer, const RmsNorm& input, const BatchView& batch, FloatRows out) const;

  private:
    struct Layer {
        AttentionMatrices attention;
        std::unique_ptr<FeedForwardPart> feed_forward;
    };
    const Layer& at(int layer) const { return layers_[static_cast<std::size_t>(layer)]; }

    ModelConfig config_;
    Ops& ops_;
    HeadExchange exchange_;
    std::vector<Layer> layers_;
    std::unique_ptr<OpsMemory> hidden_, qkv_;
    ProjectionBuffers projection_buffers_;
    FeedForwardBuffers feed_forward_buffers_;
};

}  // namespace voltpile::llm
