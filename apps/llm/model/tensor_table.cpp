#include "llm/model/tensor_table.h"

#include <fmt/format.h>

#include <stdexcept>

namespace voltpile::llm {
namespace {

// The matrices of one kind of all experts are adjacent, as GGUF files stack them.
void add_experts(const ModelConfig& config, int layer, std::vector<ModelTensor>& table) {
    const auto hidden = static_cast<std::size_t>(config.hidden);
    const auto ffn = static_cast<std::size_t>(config.experts.ffn);
    const auto shared = static_cast<std::size_t>(config.experts.shared_ffn);
    const auto count = static_cast<std::size_t>(config.experts.count);
    const auto add = [&](std::string_view name, std::size_t rows, std::size_t columns, CutAxis axis,
                         CutGroup group) -> ModelTensor& {
        return table.emplace_back(
            ModelTensor{fmt::format("blk.{}.{}.weight", layer, name), layer, rows, columns, axis, group});
    };
    const auto add_each = [&](const char* name, std::size_t rows, std::size_t columns, CutAxis axis) {
        for (std::size_t e = 0; e < count; ++e)
            add(fmt::format("{}.{}", name, e), rows, columns, axis, CutGroup::Experts).expert =
                static_cast<int>(e);
    };
    add("ffn_gate_inp", count, hidden, CutAxis::None, CutGroup::None).router = true;
    if (config.experts.choice_bias)
        table.push_back({fmt::format("blk.{}.exp_probs_b.bias", layer), layer, 1, count});
    add_each("ffn_gate", ffn, hidden, CutAxis::Rows);
    add_each("ffn_up", ffn, hidden, CutAxis::Rows);
    add_each("ffn_down", hidden, ffn, CutAxis::Columns);
    if (config.blocks.expert_biases) {
        const auto add_bias = [&](const char* name, std::size_t rows, std::size_t columns, CutAxis axis,
                                  CutGroup group) {
            table.push_back({fmt::format("blk.{}.{}.bias", layer, name), layer, rows, columns, axis, group});
            table.back().router = true;
        };
        add_bias("ffn_gate_inp", 1, count, CutAxis::None, CutGroup::None);
        add_bias("ffn_gate_exps", count, ffn, CutAxis::Columns, CutGroup::Experts);
        add_bias("ffn_up_exps", count, ffn, CutAxis::Columns, CutGroup::Experts);
        add_bias("ffn_down_exps", count, hidden, CutAxis::None, CutGroup::Experts);
    }
    if (shared == 0) return;
    if (config.experts.shared_gate) add("ffn_gate_inp_shexp", 1, hidden, CutAxis::None, CutGroup::None);
    add("ffn_gate_shexp", shared, hidden, CutAxis::Rows, CutGroup::SharedFfn);
    add("ffn_up_shexp", shared, hidden, CutAxis::Rows, CutGroup::SharedFfn);
    add("ffn_down_shexp", hidden, shared, CutAxis::Columns, CutGroup::SharedFfn);
}

void add_latent_attention(const ModelConfig& config, int layer, std::vector<ModelTensor>& table) {
    const auto size = [](std::int64_t value) { return static_cast<std::size_t>(value); };
    const LatentAttention& latent = config.latent;
    const std::size_t hidden = size(config.hidden), kv_rank = size(latent.kv_rank);
    const std::size_t q_rows = size(config.heads * (latent.plain_dim + config.rope_dims));
    const std::size_t values = size(config.heads * latent.value_dim);
    const auto add = [&](const char* name, std::size_t rows, std::size_t columns,
                         CutAxis axis = CutAxis::None) -> ModelTensor& {
        const CutGroup group = axis == CutAxis::None ? CutGroup::None : CutGroup::Heads;
        return table.emplace_back(
            ModelTensor{fmt::format("blk.{}.{}.weight", layer, name), layer, rows, columns, axis, group});
    };
    if (latent.q_rank > 0) {
        add("attn_q_a", size(latent.q_rank), hidden);
        add("attn_q_a_norm", 1, size(latent.q_rank));
        add("attn_q_b", q_rows, size(latent.q_rank), CutAxis::Rows);
    } else {
        add("attn_q", q_rows, hidden, CutAxis::Rows);
    }
    add("attn_kv_a_mqa", kv_rank + size(config.rope_dims), hidden);
    add("attn_kv_a_norm", 1, kv_rank);
    if (latent.split) {
        add("attn_k_b", size(config.heads) * kv_rank, size(latent.plain_dim), CutAxis::Rows).as_half = true;
        add("attn_v_b", values, kv_rank, CutAxis::Rows).as_half = true;
    } else {
        add("attn_kv_b", size(config.heads * latent.plain_dim) + values, kv_rank, CutAxis::Rows).as_half =
            true;
    }
    add("attn_output", hidden, values, CutAxis::Columns);
}

void add_attention(const ModelConfig& config, int layer, std::vector<ModelTensor>& table) {
    const auto hidden = static_cast<std::size_t>(config.hidden);
    const std::size_t inputs = eagle_head_of(config) != nullptr ? 2 * hidden : hidden;
    const auto q_rows = static_cast<std::size_t>(config.heads * config.head_dim);
    const auto kv_rows = static_cast<std::size_t>(config.kv_heads * config.head_dim);
    const auto head_dim = static_cast<std::size_t>(config.head_dim);
    const auto add = [&](const char* name, std::size_t rows, std::size_t columns,
                         CutAxis axis = CutAxis::None, CutGroup group = CutGroup::None) {
        table.push_back({fmt::format("blk.{}.{}", layer, name), layer, rows, columns, axis, group});
    };
    add("attn_q.weight", q_rows, inputs, CutAxis::Rows, CutGroup::Heads);
    add("attn_k.weight", kv_rows, inputs, CutAxis::Rows, CutGroup::KvHeads);
    add("attn_v.weight", kv_rows, inputs, CutAxis::Rows, CutGroup::KvHeads);
    if (config.blocks.qkv_bias) {
        add("attn_q.bias", 1, q_rows, CutAxis::Columns, CutGroup::Heads);
        add("attn_k.bias", 1, kv_rows, CutAxis::Columns, CutGroup::KvHeads);
        add("attn_v.bias", 1, kv_rows, CutAxis::Columns, CutGroup::KvHeads);
    }
    if (config.blocks.qk_norm == QkNorm::Heads) {
        add("attn_q_norm.weight", 1, head_dim);
        add("attn_k_norm.weight", 1, head_dim);
    } else if (config.blocks.qk_norm == QkNorm::Row) {
        add("attn_q_norm.weight", 1, q_rows, CutAxis::Columns, CutGroup::Heads);
        add("attn_k_norm.weight", 1, kv_rows, CutAxis::Columns, CutGroup::KvHeads);
    }
    if (config.blocks.sinks)
        add("attn_sinks.weight", 1, static_cast<std::size_t>(config.heads), CutAxis::Columns,
            CutGroup::HeadNumbers);
    add("attn_output.weight", hidden, q_rows, CutAxis::Columns, CutGroup::Heads);
    if (config.blocks.output_bias) add("attn_output.bias", 1, hidden);
}

void add_layer(const ModelConfig& config, int layer, std::vector<ModelTensor>& table) {
    const auto hidden = static_cast<std::size_t>(config.hidden);
    const auto ffn = static_cast<std::size_t>(config.ffn);
    const auto add = [&](const char* name, std::size_t rows, std::size_t columns,
                         CutAxis axis = CutAxis::None, CutGroup group = CutGroup::None) {
        table.push_back({fmt::format("blk.{}.{}", layer, name), layer, rows, columns, axis, group});
    };
    if (config.blocks.input_norms) add("attn_norm.weight", 1, hidden);
    if (config.latent.kv_rank > 0)
        add_latent_attention(config, layer, table);
    else
        add_attention(config, layer, table);
    if (config.blocks.output_norms) add("post_attention_norm.weight", 1, hidden);
    if (config.blocks.input_norms) add("ffn_norm.weight", 1, hidden);
    if (has_experts(config, layer)) {
        add_experts(config, layer, table);
    } else {
        add("ffn_gate.weight", ffn, hidden, CutAxis::Rows, CutGroup::Ffn);
        add("ffn_up.weight", ffn, hidden, CutAxis::Rows, CutGroup::Ffn);
        add("ffn_down.weight", hidden, ffn, CutAxis::Columns, CutGroup::Ffn);
    }
    if (config.blocks.output_norms) add("post_ffw_norm.weight", 1, hidden);
}

// What a prediction layer has before and behind its decoder layer.
void add_prediction(const ModelConfig& config, int layer, std::vector<ModelTensor>& table) {
    const auto hidden = static_cast<std::size_t>(config.hidden);
    const auto vocab = static_cast<std::size_t>(config.vocab);
    const auto at = static_cast<std::size_t>(layer);
    const auto add = [&](const char* name, std::size_t rows, std::size_t columns) {
        table.push_back({fmt::format("blk.{}.nextn.{}.weight", layer, name), layer, rows, columns});
    };
    add("eh_proj", hidden, 2 * hidden);
    add("enorm", 1, hidden);
    add("hnorm", 1, hidden);
    add("shared_head_norm", 1, hidden);
    if (config.prediction->own_embedding[at]) add("embed_tokens", vocab, hidden);
    if (!config.prediction->own_head[at]) return;
    add("shared_head_head", vocab, hidden);
    table.back().cut_axis = CutAxis::Rows;
    table.back().cut_group = CutGroup::Vocabulary;
}

}  // namespace

std::vector<ModelTensor> tensor_table(const ModelConfig& config) {
    const auto hidden = static_cast<std::size_t>(config.hidden);
    const auto vocab = static_cast<std::size_t>(config.vocab);
    std::vector<ModelTensor> table;
    const auto& prediction = config.prediction;
    if (!prediction) table.push_back({"token_embd.weight", -1, vocab, hidden});
    if (config.rope_factors)
        table.push_back({"rope_freqs.weight", -1, 1, static_cast<std::size_t>(config.rope_dims / 2)});
    for (int layer = 0; layer < config.layers; ++layer) add_layer(config, layer, table);
    const EagleHead* const eagle = eagle_head_of(config);
    if (prediction && eagle == nullptr) {
        for (int layer = 0; layer < config.layers; ++layer) add_prediction(config, layer, table);
        return table;
    }
    if (eagle != nullptr) {
        table.push_back({"blk.0.nextn.fc.weight", 0, hidden, eagle->layers.size() * hidden});
        table.push_back({"blk.0.nextn.enorm.weight", 0, 1, hidden});
    }
    table.push_back({"output_norm.weight", -1, 1, hidden});
    if (prediction ? prediction->own_head.front() : !config.tied_embeddings)
        table.push_back({"output.weight", -1, vocab, hidden, CutAxis::Rows, CutGroup::Vocabulary});
    return table;
}

void check_slice(const ModelTensor& tensor, const TensorSlice& slice) {
    const std::size_t block = block_size(tensor.format);
    if (slice.row_begin > slice.row_end || slice.row_end > tensor.rows ||
        slice.column_begin > slice.column_end || slice.column_end > tensor.columns ||
        slice.column_begin % block != 0 || slice.column_end % block != 0)
        throw std::out_of_range(fmt::format("rows {} to {}, columns {} to {} of {} ({} x {}, {})",
                                            slice.row_begin, slice.row_end, slice.column_begin,
                                            slice.column_end, tensor.name, tensor.rows, tensor.columns,
                                            name(tensor.format)));
}

}  // namespace voltpile::llm
