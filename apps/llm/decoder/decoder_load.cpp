#include <fmt/format.h>

#include "base/error.h"
#include "llm/decoder/decoder.h"
#include "llm/model/lora/adapter_memory.h"

namespace voltpile::llm {
namespace {

RankShare checked_share(const ModelSource& model, const DecoderSettings& settings) {
    const std::string obstacle = tensor_parallel_obstacle(model, settings.ranks);
    if (!obstacle.empty()) throw JobError("tensor parallelism: " + obstacle);
    if (settings.layer_begin < 0 || settings.layer_begin >= settings.layer_end ||
        settings.layer_end > model.config().layers)
        throw JobError(fmt::format("layers {} to {} are not a stage of a model with {} layers",
                                   settings.layer_begin, settings.layer_end, model.config().layers));
    return rank_share(model, settings.rank, settings.ranks);
}

}  // namespace

Decoder::Decoder(const ModelSource& model, Ops& ops, DecoderLinks& links, const DecoderSettings& settings)
    : config_(model.config()),
      ops_(ops),
      links_(links),
      settings_(settings),
      share_(checked_share(model, settings)),
      has_adapters_(!model.adapters().empty()),
      cache_shape_{settings.layer_end - settings.layer_begin,
                   static_cast<int>(share_.kv_heads.size()),
                   static_cast<int>(config_.head_dim),
                   settings.pages,
                   settings.cache,
                   config_.latent.kv_rank > 0},
      cache_(std::make_unique<KvCache>(ops, cache_shape_)) {
    if (settings.prediction_rows > 0 && last_stage())
        hidden_rows_ = ops.allocate(static_cast<std::size_t>(hidden_row_count() * config_.hidden) *
                                    bytes_of(ops.hidden_element()));
    if (!settings.read_layers.empty())
        fusion_ =
            std::make_unique<StateFusion>(ops, settings.read_layers, settings.limits.rows, config_.hidden);
    if (settings.host_pages > 0) {
        PageRows rows;
        if (hidden_rows_)
            rows = {
                static_cast<std::byte*>(hidden_rows_->data()),
                static_cast<std::size_t>(kv_page_tokens * config_.hidden) * bytes_of(ops.hidden_element())};
        page_store_ = std::make_unique<PageStore>(ops, *cache_, rows, settings.host_pages);
    }
    const WeightLoader loader(model, ops, share_, settings.loaded);
    rope_ = std::make_unique<RopeTables>(loader,
                                         std::int64_t{settings.limits.pages_per_sequence} * kv_page_tokens);
    load_ends(loader);
    for (int i = 0; predicts() && i < config_.layers; ++i) predictions_.push_back(load_prediction(loader, i));
    allocate_buffers(model);
    const int on_host = first_layer_on_host(config_, settings_.experts_on_host);
    if (on_host < settings_.layer_end)
        host_experts_ =
            ops_.make_host_experts({settings_.limits.rows, config_.hidden,
                                    static_cast<int>(config_.experts.used), settings_.streamed_rows});
    const WeightLoader whole(model, ops, rank_share(model, 0, 1), settings.loaded);
    if (settings_.rows_to_cut > 0)
        whole_ = std::make_unique<WholeLayers>(whole, links_, settings_.rank, settings_.ranks,
                                               settings_.limits.rows);
    for (int i = settings_.layer_begin; i < settings_.layer_end; ++i) {
        layers_.push_back(load_layer(loader, i, i >= on_host));
        if (whole_) whole_->load(whole, i);
    }
    ops_.synchronize();
}

Decoder::Layer Decoder::load_layer(const WeightLoader& loader, int index, bool experts_on_host) {
    const auto norm = [&](const char* name) {
        return Norm(loader, loader.model().layer_tensor(index, name));
    };
    Layer layer{
        .attention = {loader, index, *rope_, *attention_buffers_},
        .feed_forward = load_feed_forward(loader, index, experts_on_host ? host_experts_.get() : nullptr)};
    if (config_.blocks.input_norms) {
        const EagleHead* const eagle = eagle_head_of(config_);
        if (eagle == nullptr || !eagle->norm_before_residual) layer.attention_norm = norm("attn_norm.weight");
        layer.feed_forward_norm = norm("ffn_norm.weight");
    }
    if (config_.blocks.output_norms) {
        layer.attention_output_norm = norm("post_attention_norm.weight");
        layer.feed_forward_output_norm = norm("post_ffw_norm.weight");
    }
    return layer;
}

void Decoder::load_ends(const WeightLoader& loader) {
    const ModelSource& model = loader.model();
    const bool embeds = first_stage() || (last_stage() && settings_.embeds_last);
    if (embeds && !predicts()) {
        const ModelTensor& embedding = model.tensor("token_embd.weight");
        embedding_ = loader.matrix(embedding, whole(embedding));
    }
    if (!last_stage()) return;
    for (int rank = 0; rank < settings_.ranks; ++rank)
        word_begin_.push_back(
            static_cast<std::int64_t>(rank_share(model, rank, settings_.ranks).words.begin));
    word_begin_.push_back(config_.vocab);
    if (predicts()) return;  // load_prediction() loads what each layer has of its own
    output_norm_ = Norm(loader, model.tensor("output_norm.weight"), static_cast<float>(config_.logit_scale));
    if (!(embeds && settings_.ranks == 1 && config_.tied_embeddings)) head_ = load_head(loader, model.head());
}

std::unique_ptr<WeightMatrix> Decoder::load_head(const WeightLoader& loader,
                                                 const ModelTensor& tensor) const {
    return loader.matrix(tensor, {share_.words.begin, share_.words.end, 0, tensor.columns});
}

Decoder::Prediction Decoder::load_prediction(const WeightLoader& loader, int index) {
    const ModelSource& model = loader.model();
    const auto tensor = [&](const char* name) -> const ModelTensor& {
        return model.layer_tensor(index, name);
    };
    const auto scale = static_cast<float>(config_.logit_scale);
    const auto at = static_cast<std::size_t>(index);
    const bool own_head = config_.prediction->own_head[at];
    Prediction out;
    out.embedding_norm = Norm(loader, tensor("nextn.enorm.weight"));
    if (const EagleHead* const eagle = eagle_head_of(config_)) {
        if (eagle->norm_before_residual) out.hidden_norm = Norm(loader, tensor("attn_norm.weight"));
        out.fusion = loader.matrix(tensor("nextn.fc.weight"));
        out.joined = ops_.allocate(static_cast<std::size_t>(2 * config_.hidden * settings_.limits.rows) *
                                   bytes_of(ops_.hidden_element()));
        out.output_norm = Norm(loader, model.tensor("output_norm.weight"), scale);
        if (own_head) out.head = load_head(loader, model.head());
        return out;
    }
    out.hidden_norm = Norm(loader, tensor("nextn.hnorm.weight"));
    const ModelTensor& projection = tensor("nextn.eh_proj.weight");
    const auto columns = static_cast<std::size_t>(config_.hidden);
    out.of_embedding = loader.matrix(projection, {0, projection.rows, 0, columns});
    out.of_hidden = loader.matrix(projection, {0, projection.rows, columns, 2 * columns});
    out.output_norm = Norm(loader, tensor("nextn.shared_head_norm.weight"), scale);
    if (config_.prediction->own_embedding[at]) {
        const ModelTensor& embedding = tensor("nextn.embed_tokens.weight");
        out.embedding = loader.matrix(embedding, whole(embedding));
    }
    if (own_head) out.head = load_head(loader, tensor("nextn.shared_head_head.weight"));
    return out;
}

void Decoder::allocate_buffers(const ModelSource& model) {
    const auto floats = [&](std::int64_t rows, std::int64_t columns) {
        return ops_.allocate(static_cast<std::size_t>(rows * columns) * sizeof(float));
    };
    const auto hidden = [&](std::int64_t rows, std::int64_t columns) {
        return ops_.allocate(static_cast<std::size_t>(rows * columns) * bytes_of(ops_.hidden_element()));
    };
    const std::int64_t rows = settings_.limits.rows;
    // The norms of outputs come between the sums and their addition.
    if (!config_.blocks.output_norms) joint_ = links_.joint_output();
    const std::int64_t ranks = settings_.ranks;
    buffers_.x = floats((rows + ranks - 1) / ranks * ranks, config_.hidden);
    buffers_.partial = floats(rows, config_.hidden);
    if (joint_ == nullptr) buffers_.hidden = hidden(rows, config_.hidden);
    const std::shared_ptr<OpsMemory> order = make_order_buffer(model, ops_, rows);
    attention_buffers_ = std::make_unique<AttentionBuffers>(ops_, config_, share_, order, rows);
    feed_forward_buffers_ =
        std::make_unique<FeedForwardBuffers>(ops_, config_, share_, order, rows, adapter_buffers(model));
    if (!last_stage()) return;
    const std::int64_t logits = settings_.limits.logits;
    if (norms_all_rows()) {
        buffers_.head_input = hidden(logits, config_.hidden);
    } else {
        buffers_.last = floats(logits, config_.hidden);
        buffers_.last_partial = floats(logits, config_.hidden);
    }
    buffers_.logits = floats(logits, config_.vocab);
    if (settings_.ranks == 1) return;
    const std::int64_t words = (config_.vocab + settings_.ranks - 1) / settings_.ranks;
    buffers_.logits_part = floats(logits, words);
    buffers_.logits_parts = floats(logits * settings_.ranks, words);
}

}  // namespace voltpile::llm
