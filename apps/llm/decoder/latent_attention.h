// Multi-head latent attention in its absorbed form: attention runs on the latent vectors themselves, as one
// KV head that all query heads share. A key is the rotated part and then the latent vector of its token. A
// query is its rotated part and then the product of its other part with the head's matrix of keys,
// transposed; the output of attention, without its first elements, times the head's matrix of values is the
// head's output.
#pragma once

#include <cstdint>
#include <memory>

#include "llm/decoder/weight_loader.h"

namespace voltpile::llm {

// Activations that all layers share.
struct LatentBuffers {
    // rows: of the largest pass. heads: of this rank.
    LatentBuffers(Ops& ops, const ModelConfig& config, std::int64_t rows, std::int64_t heads);

    std::unique_ptr<OpsMemory> sums;      // fp32 latent vectors before their norm
    std::unique_ptr<OpsMemory> latent;    // after it
    std::unique_ptr<OpsMemory> queries;   // as the model has them
    std::unique_ptr<OpsMemory> rotated;   // the part of keys that has RoPE
    std::unique_ptr<OpsMemory> attended;  // output of attention
};

class LatentProjections {
  public:
    // Loads a layer's matrices, or a rank's heads of them.
    LatentProjections(const WeightLoader& loader, int layer);

    // Fills the queries and the key of each row of qkv, as rope_and_store expects them. x: the normed rows.
    void project(Ops& ops, HiddenRows x, const LatentBuffers& buffers, SentinelPlace place,
                 HiddenRows qkv) const;
    // Where attention writes its output for `rows` rows: (rows, heads * head_dim). The first rope_dims
    // columns of each head are unspecified.
    HiddenRows attended(const LatentBuffers& buffers, std::int64_t rows) const;
    // out[r, h * value_dim + j] = value j of head h. attended: the output of attention.
    void values(Ops& ops, HiddenRows attended, HiddenRows out) const;

  private:
    std::int64_t heads_, rope_dims_, plain_dim_, value_dim_, kv_rank_;
    float eps_;
    std::unique_ptr<WeightMatrix> q_a_;  // null: queries have no latent vector
    std::unique_ptr<OpsMemory> q_norm_, kv_norm_;
    std::unique_ptr<WeightMatrix> q_, kv_latent_, kv_rotated_;
    std::unique_ptr<WeightMatrix> k_b_,
        v_b_;  // F16, for each head (kv_rank, plain_dim) and (value_dim, kv_rank)
};

}  // namespace voltpile::llm
