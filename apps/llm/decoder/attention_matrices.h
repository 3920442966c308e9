// The matrices of a layer's attention: those before it, and that of its output.
#pragma once

#include <cstdint>
#include <memory>

#include "llm/decoder/input_order.h"
#include "llm/decoder/latent_attention.h"

namespace voltpile::llm {

// Activations of project(), which all layers share.
struct ProjectionBuffers {
    // order: of make_order_buffer(). rows: of the largest pass. heads: of this rank.
    ProjectionBuffers(Ops& ops, const ModelConfig& config, std::shared_ptr<OpsMemory> order,
                      std::int64_t rows, std::int64_t heads);

    std::shared_ptr<OpsMemory> order;
    std::unique_ptr<LatentBuffers> latent;  // null without latent attention
};

struct AttentionMatrices {
    AttentionMatrices() = default;
    // Loads what the loader's share has of a layer.
    AttentionMatrices(const WeightLoader& loader, int layer);

    // Computes queries, keys and values of the rows of `input`, as rope_and_store expects them. place: of a
    // latent vector that is not finite.
    void project(Ops& ops, const RmsNorm& input, const ProjectionBuffers& buffers, SentinelPlace place,
                 HiddenRows qkv) const;

    InputOrder order;                           // of q, k and v
    std::unique_ptr<WeightMatrix> q, k, v;      // null with latent attention
    std::unique_ptr<LatentProjections> latent;  // null without
    std::unique_ptr<WeightMatrix> o;
};

}  // namespace voltpile::llm
