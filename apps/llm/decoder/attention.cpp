#include "llm/decoder/attention.h"

#include <cmath>
#include <utility>
#include <vector>

#include "llm/decoder/adapter_loader.h"

namespace voltpile::llm {

AttentionBuffers::AttentionBuffers(Ops& ops, const ModelConfig& config, const RankShare& share,
                                   std::shared_ptr<OpsMemory> order, std::int64_t rows)
    : projection(ops, config, std::move(order), rows, static_cast<std::int64_t>(share.heads.size())),
      ops_(ops),
      rows_(rows) {
    const auto heads = static_cast<std::int64_t>(share.heads.size() + 2 * share.kv_heads.size());
    qkv = ops.allocate(static_cast<std::size_t>(rows * heads * config.head_dim) *
                       bytes_of(ops.hidden_element()));
    if (config.blocks.qk_norm == QkNorm::Row)
        squares = ops.allocate(static_cast<std::size_t>(2 * rows) * sizeof(float));
}

void* AttentionBuffers::attended(std::int64_t begin, std::int64_t columns) {
    auto& memory = attended_[{begin, columns}];
    if (!memory) {
        const std::vector<std::byte> zeros(static_cast<std::size_t>(rows_ * columns) *
                                           bytes_of(ops_.hidden_element()));
        memory = ops_.allocate(zeros.size());
        ops_.upload(memory->data(), zeros.data(), zeros.size());
    }
    return memory->data();
}

Attention::Attention(const WeightLoader& loader, int layer, const RopeTables& rope, AttentionBuffers& buffers)
    : buffers_(buffers),
      matrices_(loader, layer),
      o_adapters_(load_adapters(loader, layer, {"attn_output.weight"})) {
    const ModelConfig& config = loader.model().config();
    const auto tensor = [&](const char* name) -> const ModelTensor& {
        return loader.model().layer_tensor(layer, name);
    };
    const auto vector = [&](const char* name) { return loader.vector_memory(tensor(name)); };
    if (config.latent.kv_rank == 0)
        qkv_adapters_ = load_adapters(loader, layer, {"attn_q.weight", "attn_k.weight", "attn_v.weight"});
    if (config.blocks.qkv_bias) {
        q_bias_ = vector("attn_q.bias");
        k_bias_ = vector("attn_k.bias");
        v_bias_ = vector("attn_v.bias");
    }
    if (config.blocks.qk_norm != QkNorm::None) {
        q_norm_ = Norm(loader, tensor("attn_q_norm.weight"));
        k_norm_ = Norm(loader, tensor("attn_k_norm.weight"));
    }
    if (config.blocks.output_bias) o_bias_ = vector("attn_output.bias");
    if (config.blocks.sinks) sinks_ = vector("attn_sinks.weight");
    set_heads(loader, layer, rope);
    place_attended(tensor_shard(loader.model(), tensor("attn_output.weight"), loader.share()),
                   bytes_of(loader.ops().hidden_element()));
}

void Attention::set_heads(const WeightLoader& loader, int layer, const RopeTables& rope) {
    const ModelConfig& config = loader.model().config();
    qkv_.heads = static_cast<int>(loader.share().heads.size());
    qkv_.kv_heads = static_cast<int>(loader.share().kv_heads.size());
    qkv_.head_dim = static_cast<int>(config.head_dim);
    qkv_.q_bias = numbers(q_bias_);
    qkv_.k_bias = numbers(k_bias_);
    qkv_.v_bias = numbers(v_bias_);
    qkv_.q_norm = q_norm_.weight();
    qkv_.k_norm = k_norm_.weight();
    qkv_.norm_eps = static_cast<float>(config.rms_eps);
    if (config.blocks.qk_norm == QkNorm::Row) {
        qkv_.row_squares = numbers(buffers_.squares);
        qkv_.norm_heads = static_cast<int>(config.heads);
        qkv_.norm_kv_heads = static_cast<int>(config.kv_heads);
    }
    rope.set(config, layer, qkv_);
    settings_.window = slides(config, layer) ? static_cast<int>(config.sliding_window) : 0;
    settings_.scale = config.attention_scale > 0 ? static_cast<float>(config.attention_scale)
                                                 : 1 / std::sqrt(static_cast<float>(config.head_dim));
    settings_.soft_cap = static_cast<float>(config.attention_soft_cap);
    settings_.sinks = numbers(sinks_);
}

void Attention::place_attended(const TensorShard& shard, std::size_t element_bytes) {
    const std::size_t begin = shard.used_columns.begin - shard.stored.column_begin;
    attended_ = buffers_.attended(static_cast<std::int64_t>(begin),
                                  static_cast<std::int64_t>(shard.stored.columns()));
    skipped_bytes_ = begin * element_bytes;
}

HiddenRows Attention::run(Ops& ops, DecoderLinks& links, const RmsNorm& input, const BatchView& batch,
                          const KvLayer& cache, SentinelPlace place) const {
    const std::int64_t rows = input.out.rows;
    const HiddenRows qkv{buffers_.qkv->data(), rows,
                         std::int64_t{qkv_.heads + 2 * qkv_.kv_heads} * qkv_.head_dim};
    matrices_.project(ops, input, buffers_.projection, place, qkv);
    if (qkv_adapters_) ops.add_adapters(input.out, *qkv_adapters_, batch, qkv);
    const HiddenRows attended{attended_, rows, matrices_.o->columns()};
    attend(ops, links, qkv, batch, cache,
           {static_cast<std::byte*>(attended_) + skipped_bytes_, rows, attended.columns});
    return attended;
}

void Attention::attend(Ops& ops, DecoderLinks& links, HiddenRows qkv, const BatchView& batch,
                       const KvLayer& cache, HiddenRows out) const {
    if (qkv_.row_squares != nullptr) {
        const FloatRows squares{static_cast<float*>(buffers_.squares->data()), qkv.rows, 2};
        ops.sum_squares(qkv, qkv_, squares);
        links.all_reduce(squares);
    }
    if (!matrices_.latent) return ops.attend(qkv, qkv_, batch, cache, settings_, out);
    const HiddenRows latent = matrices_.latent->attended(*buffers_.projection.latent, qkv.rows);
    ops.attend(qkv, qkv_, batch, cache, settings_, latent);
    matrices_.latent->values(ops, latent, out);
}

void Attention::output(Ops& ops, HiddenRows attended, const BatchView& batch, FloatRows out,
                       PartOutput use) const {
    if (use == PartOutput::Added)
        ops.add_matmul(attended, *matrices_.o, output_bias(), out);
    else if (use == PartOutput::Part && !o_adapters_)
        ops.matmul_part(attended, *matrices_.o, JointPart::Attention, out);
    else
        ops.matmul(attended, *matrices_.o, out);
    if (o_adapters_) ops.add_adapters(attended, *o_adapters_, batch, out);
}

}  // namespace voltpile::llm
