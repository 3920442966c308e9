// The matrices of a layer's attention: those before it, and that of its output.
#pragma once

#include <memory>

#include "llm/decoder/latent_attention.h"

namespace voltpile::llm {

struct AttentionMatrices {
    AttentionMatrices() = default;
    // Loads what the loader's share has of a layer.
    AttentionMatrices(const WeightLoader& loader, int layer);

    // Computes queries, keys and values of the rows of `input`, as rope_and_store expects them. buffers: null
    // without latent attention. place: of a latent vector that is not finite.
    void project(Ops& ops, const RmsNorm& input, const LatentBuffers* buffers, SentinelPlace place,
                 HiddenRows qkv) const;

    std::unique_ptr<WeightMatrix> q, k, v;      // null with latent attention
    std::unique_ptr<LatentProjections> latent;  // null without
    std::unique_ptr<WeightMatrix> o;
};

}  // namespace voltpile::llm
