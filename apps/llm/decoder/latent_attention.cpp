#include "llm/decoder/latent_attention.h"

#include <algorithm>
#include <vector>

namespace voltpile::llm {
namespace {

// The matrices of keys, transposed, and of values, one head below the other.
struct HeadMatrices {
    std::vector<float> keys, values;
};

// Divides the rows of attn_kv_b, for each head its plain_dim rows of keys and value_dim rows of values.
HeadMatrices divide(const std::vector<float>& both, std::int64_t heads, const LatentAttention& latent) {
    const std::int64_t rank = latent.kv_rank, rows = latent.plain_dim + latent.value_dim;
    HeadMatrices of;
    of.keys.resize(static_cast<std::size_t>(heads * rank * latent.plain_dim));
    for (std::int64_t h = 0; h < heads; ++h) {
        const float* from = both.data() + h * rows * rank;
        float* to = of.keys.data() + h * rank * latent.plain_dim;
        for (std::int64_t j = 0; j < latent.plain_dim; ++j)
            for (std::int64_t c = 0; c < rank; ++c) to[c * latent.plain_dim + j] = from[j * rank + c];
        of.values.insert(of.values.end(), from + latent.plain_dim * rank, from + rows * rank);
    }
    return of;
}

HeadMatrices head_matrices(const WeightLoader& loader, int layer, std::int64_t heads) {
    const auto vector = [&](const char* name) {
        return loader.vector(loader.model().layer_tensor(layer, name));
    };
    const LatentAttention& latent = loader.model().config().latent;
    if (latent.split) return {vector("attn_k_b.weight"), vector("attn_v_b.weight")};
    return divide(vector("attn_kv_b.weight"), heads, latent);
}

}  // namespace

LatentBuffers::LatentBuffers(Ops& ops, const ModelConfig& config, std::int64_t rows, std::int64_t heads) {
    const LatentAttention& sizes = config.latent;
    const auto hidden = [&](std::int64_t columns) {
        return ops.allocate(static_cast<std::size_t>(rows * columns) * bytes_of(ops.hidden_element()));
    };
    const std::int64_t rank = std::max(sizes.kv_rank, sizes.q_rank);
    sums = ops.allocate(static_cast<std::size_t>(rows * rank) * sizeof(float));
    latent = hidden(rank);
    queries = hidden(heads * (sizes.plain_dim + config.rope_dims));
    rotated = hidden(config.rope_dims);
    attended = hidden(heads * config.head_dim);
}

LatentProjections::LatentProjections(const WeightLoader& loader, int layer)
    : heads_(static_cast<std::int64_t>(loader.share().heads.size())) {
    const ModelSource& model = loader.model();
    const ModelConfig& config = model.config();
    const auto tensor = [&](const char* name) -> const ModelTensor& {
        return model.layer_tensor(layer, name);
    };
    rope_dims_ = config.rope_dims;
    plain_dim_ = config.latent.plain_dim;
    value_dim_ = config.latent.value_dim;
    kv_rank_ = config.latent.kv_rank;
    eps_ = static_cast<float>(config.rms_eps);
    if (config.latent.q_rank > 0) {
        q_a_ = loader.matrix(tensor("attn_q_a.weight"));
        q_norm_ = loader.vector_memory(tensor("attn_q_a_norm.weight"));
        q_ = loader.matrix(tensor("attn_q_b.weight"));
    } else {
        q_ = loader.matrix(tensor("attn_q.weight"));
    }
    WeightMatrix* const queries[] = {q_.get()};
    loader.ops().allow_integers(queries, false);
    const ModelTensor& kv = tensor("attn_kv_a_mqa.weight");
    const auto latent_rows = static_cast<std::size_t>(kv_rank_);
    kv_latent_ = loader.matrix(kv, {0, latent_rows, 0, kv.columns});
    kv_rotated_ = loader.matrix(kv, {latent_rows, kv.rows, 0, kv.columns});
    kv_norm_ = loader.vector_memory(tensor("attn_kv_a_norm.weight"));
    const HeadMatrices of = head_matrices(loader, layer, heads_);
    k_b_ = loader.half_matrix(of.keys, heads_ * kv_rank_, plain_dim_);
    v_b_ = loader.half_matrix(of.values, heads_ * value_dim_, kv_rank_);
}

void LatentProjections::project(Ops& ops, HiddenRows x, const LatentBuffers& buffers, SentinelPlace place,
                                HiddenRows qkv) const {
    const auto normed = [&](const WeightMatrix& matrix, const std::unique_ptr<OpsMemory>& norm) {
        const FloatRows sums{static_cast<float*>(buffers.sums->data()), x.rows, matrix.rows()};
        const HiddenRows latent{buffers.latent->data(), x.rows, matrix.rows()};
        ops.matmul(x, matrix, sums);
        ops.add_rms_norm(sums, {}, static_cast<const float*>(norm->data()), eps_, latent, place);
        return latent;
    };
    const auto multiply = [&](HiddenRows from, const WeightMatrix& matrix, void* to) {
        const WeightMatrix* const one[] = {&matrix};
        const HiddenRows product{to, x.rows, matrix.rows()};
        ops.matmul(from, one, product);
        return product;
    };
    const HiddenRows queries = multiply(q_a_ ? normed(*q_a_, q_norm_) : x, *q_, buffers.queries->data());
    const std::int64_t of_query = plain_dim_ + rope_dims_, of_head = rope_dims_ + kv_rank_;
    const int heads = static_cast<int>(heads_);
    ops.copy_heads(queries, {plain_dim_, of_query, rope_dims_}, heads, qkv, {0, of_head, rope_dims_});
    ops.matmul_heads(queries, {0, of_query, plain_dim_}, *k_b_, qkv, {rope_dims_, of_head, kv_rank_});

    const std::int64_t key = heads_ * of_head;
    const HiddenRows rotated = multiply(x, *kv_rotated_, buffers.rotated->data());
    ops.copy_heads(rotated, {0, 0, rope_dims_}, 1, qkv, {key, 0, rope_dims_});
    ops.copy_heads(normed(*kv_latent_, kv_norm_), {0, 0, kv_rank_}, 1, qkv, {key + rope_dims_, 0, kv_rank_});
}

HiddenRows LatentProjections::attended(const LatentBuffers& buffers, std::int64_t rows) const {
    return {buffers.attended->data(), rows, heads_ * (rope_dims_ + kv_rank_)};
}

void LatentProjections::values(Ops& ops, HiddenRows attended, HiddenRows out) const {
    ops.matmul_heads(attended, {rope_dims_, rope_dims_ + kv_rank_, kv_rank_}, *v_b_, out,
                     {0, value_dim_, value_dim_});
}

}  // namespace voltpile::llm
