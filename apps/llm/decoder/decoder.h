// A decoder-only transformer, or one rank's part of it: the layers of its pipeline
// stage, and of those its share of the heads, the feed-forward elements and the vocabulary.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "llm/decoder/attention.h"
#include "llm/decoder/batch_buffer.h"
#include "llm/decoder/decoder_links.h"
#include "llm/decoder/feed_forward.h"
#include "llm/decoder/kv_cache.h"
#include "llm/decoder/norm.h"
#include "llm/decoder/page_store.h"
#include "llm/decoder/rope_tables.h"
#include "llm/decoder/state_fusion.h"
#include "llm/decoder/weight_loader.h"
#include "llm/decoder/whole_layers.h"

namespace voltpile::llm {

class Decoder;

struct DecoderSettings {
    int rank = 0;  // in the tensor-parallel group
    int ranks = 1;
    int layer_begin = 0;  // this stage's layers
    int layer_end = 0;
    int pages = 0;       // of the KV cache
    int host_pages = 0;  // in host memory, see PageStore
    KvElement cache = KvElement::F16;
    // Computes all rows as if they had adapters, so that the result of one does not depend on the others.
    bool batch_invariant = false;
    bool clamp = false;  // the operations clamp already (see ops.h), so messages do not suggest it
    // How many of the model's layers with experts, the last ones, keep these in host memory, see
    // first_layer_on_host().
    int experts_on_host = 0;
    int streamed_rows = 0;  // see HostExpertShape
    // Passes of at least so many rows are cut by rows, see WholeLayers; 0: none. A row's result then depends
    // on whether its pass is. Not with adapters, experts in host memory, or `predicts_for`.
    int rows_to_cut = 0;
    BatchLimits limits;
    // The most rows of a pass of the prediction layers or the EAGLE 3 head; 0: none uses this decoder. See
    // Decoder::hidden_rows().
    int prediction_rows = 0;
    bool embeds_last = false;  // the last stage has the embedding too, for what predicts there
    // The layers whose inputs an EAGLE 3 head reads, with prediction_rows; empty: no head uses this
    // decoder. On the last stage Decoder::fuse_with() must come before the first pass.
    std::vector<int> read_layers;
    // Of prediction layers or an EAGLE 3 head: the decoder of their model, on the same device; it must
    // outlive this one. nullptr: the model is neither.
    const Decoder* predicts_for = nullptr;
    std::function<void(std::uint64_t)> loaded;  // callback with the bytes of each matrix loaded; may be empty
};

class Decoder {
  public:
    // Loads the weights. model, ops and links must outlive the decoder. Throws JobError for a cut that the
    // model does not allow.
    Decoder(const ModelSource& model, Ops& ops, DecoderLinks& links, const DecoderSettings& settings);

    // Enqueues a pass. The batch's positions continue those of earlier passes, and no two sequences write the
    // same page. Returns the logits, (batch.logits, vocabulary), on every rank of the last stage, valid until
    // the next pass; empty on other stages. Collective: every rank of the team calls it with the same batch.
    // prediction_layer: of prediction layers, the one that computes the pass.
    FloatRows forward(const BatchView& batch, int prediction_layer = 0) {
        receive(batch);
        const FloatRows logits = compute(batch, prediction_layer);
        send(batch);
        return logits;
    }

    // The parts of forward(): receive the hidden state from the previous stage, compute this stage, send the
    // hidden state to the next. compute() uses no links between stages, so that it can be recorded.
    void receive(const BatchView& batch);
    FloatRows compute(const BatchView& batch, int prediction_layer = 0);
    void send(const BatchView& batch);

    // Waits for the passes so far. Throws Error with the layer, the operation and the sequence if a sum in
    // them was not finite. batch: the batch of the last pass; an empty one leaves the sequence out of the
    // message.
    void check(const Batch& batch);

    // Enqueues copies between the KV cache and host memory. Only with host_pages.
    void move_pages(std::span<const PageMove> moves) { page_store_->move(moves); }

    // Throws DeviceError if a pass that has completed failed on the host.
    void check_host() const {
        if (host_experts_) host_experts_->check();
    }

    std::size_t cache_bytes() const { return cache_shape_.bytes(); }
    // Whether BatchView::adapter must be set in every pass.
    bool always_adapted() const { return has_adapters_ && settings_.batch_invariant; }
    // Whether BatchView::hidden_row must be set in every pass.
    bool predicts() const { return settings_.predicts_for != nullptr; }
    // What prediction layers or an EAGLE 3 head read of tokens: the inputs of the head, or the fused states.
    // First those of the tokens in the KV cache: the token at index i of a page p has row p * kv_page_tokens
    // + i. Behind them come settings.prediction_rows rows for the last pass of a prediction layer or the
    // EAGLE 3 head: the inputs of its head, or what it continues with. Only with prediction_rows, on the last
    // stage.
    HiddenRows hidden_rows() const { return hidden(hidden_rows_, hidden_row_count(), config_.hidden); }
    // Lets the passes of this decoder, on the last stage, fuse the states that an EAGLE 3 head reads. The
    // head must outlive them.
    void fuse_with(const Decoder& head) { fusion_->set_matrix(*head.prediction(0).fusion); }
    bool first_stage() const { return settings_.layer_begin == 0; }
    bool last_stage() const { return settings_.layer_end == static_cast<int>(config_.layers); }

  private:
    struct Layer {
        Norm attention_norm{}, attention_output_norm{}, feed_forward_norm{}, feed_forward_output_norm{};
        Attention attention;
        std::unique_ptr<FeedForwardPart> feed_forward;
    };
    // Activations, large enough for the largest pass.
    struct Buffers {
        std::unique_ptr<OpsMemory> x, partial, hidden, last, last_partial, head_input, logits_part,
            logits_parts, logits;
    };
    // What a prediction layer or an EAGLE 3 head has before and behind its decoder layer.
    struct Prediction {
        Norm embedding_norm;
        Norm hidden_norm;  // of a head: empty unless norm_before_residual
        // Of a layer: the halves of eh_proj. Of a head: fc.
        std::unique_ptr<WeightMatrix> of_embedding, of_hidden, fusion;
        // Of a head: the input of its attention, (rows, 2 * hidden).
        std::unique_ptr<OpsMemory> joined;
        Norm output_norm;
        std::unique_ptr<WeightMatrix> embedding, head;  // null: those of the model
    };

    // experts_on_host: whether experts of the layer, if it has any, stay in host memory.
    Layer load_layer(const WeightLoader& loader, int index, bool experts_on_host);
    void load_ends(const WeightLoader& loader);
    std::unique_ptr<WeightMatrix> load_head(const WeightLoader& loader, const ModelTensor& tensor) const;
    Prediction load_prediction(const WeightLoader& loader, int index);
    const Prediction& prediction(int layer) const { return predictions_[static_cast<std::size_t>(layer)]; }
    bool is_eagle_head() const { return predicts() && prediction(0).joined != nullptr; }
    // Whether the norm of the head gets all rows, because what predicts reads them.
    bool norms_all_rows() const { return predicts() ? !is_eagle_head() : hidden_rows_ && !fusion_; }
    const WeightMatrix& embedding(int prediction_layer = 0) const {
        if (!predicts()) return *embedding_;
        const auto& own = prediction(prediction_layer).embedding;
        return own ? *own : settings_.predicts_for->embedding();
    }
    const WeightMatrix& head(int prediction_layer = 0) const {
        if (!predicts()) return head_ ? *head_ : embedding();
        const auto& own = prediction(prediction_layer).head;
        return own ? *own : settings_.predicts_for->head();
    }
    std::int64_t hidden_row_count() const {
        return std::int64_t{settings_.pages} * kv_page_tokens + settings_.prediction_rows;
    }
    // Returns the rows of hidden_rows() that the last pass of a prediction layer or the EAGLE 3 head fills.
    HiddenRows predicted_rows(std::int64_t rows) const;
    void allocate_buffers(const ModelSource& model);
    HiddenRows normed_rows(std::int64_t rows) const {
        return {joint_ != nullptr ? joint_ : buffers_.hidden->data(), rows, config_.hidden};
    }
    // Runs one layer. delta: the previous layer's output if it is not yet added to x. Returns this layer's
    // output in the same way, in buffers_.partial; with joint sums it is this rank's part.
    FloatRows run_layer(const Layer& layer, int index, FloatRows x, FloatRows delta, const BatchView& batch,
                        const KvLayer& cache);
    // Runs the layers from `first` on, of this stage or of a prediction. Returns delta as run_layer() does.
    FloatRows run_by_heads(FloatRows x, const BatchView& batch, int first, int end);
    // Whether the ranks cut a pass by rows.
    bool cuts_by_rows(const BatchView& batch) const;
    // Runs all layers of such a pass. x is complete on all ranks afterwards.
    void run_by_rows(FloatRows x, const BatchView& batch);
    // As run_layer() for this rank's rows, x. own: the batch of these rows.
    FloatRows run_whole_layer(int index, FloatRows x, FloatRows delta, const BatchView& own,
                              const BatchView& batch);
    // Adds delta to this rank's rows of a pass cut by rows, and completes x on all ranks.
    void gather_rows(FloatRows x, FloatRows delta, SentinelPlace place);
    // What becomes of a layer's output, with this norm or none. adds: whether it is better added to x as it
    // is computed, if it can be.
    PartOutput use_of_output(const Norm& output_norm, bool adds) const {
        if (adds && settings_.ranks == 1 && !output_norm) return PartOutput::Added;
        return joint_ != nullptr ? PartOutput::Part : PartOutput::Stored;
    }
    // Norm::of_stream(), left to the operation that takes the rows, unless the links join the norm with the
    // sum of delta over the ranks.
    RmsNorm add_and_norm(FloatRows x, AddedRows delta, const Norm& norm, SentinelPlace place);
    // What an EAGLE 3 head reads of the layers before layer `end`, see StateFusion.
    HiddenRows states_before(int end, std::int64_t rows) const {
        return fusion_ ? fusion_->taken_before(end, rows) : HiddenRows{};
    }
    // Computes the input of a prediction layer's decoder layer. x: embeddings, then the input.
    void join_hidden(const Prediction& prediction, FloatRows x, const BatchView& batch);
    // The same for an EAGLE 3 head. Also begins the input of its attention.
    void begin_head(const Prediction& head, FloatRows x, const BatchView& batch);
    // Returns the input of attention. normed: the normed residual stream.
    RmsNorm attention_input(const RmsNorm& normed);
    // Copies rows into the columns of the input of an EAGLE 3 head's attention from `begin` on.
    void join(HiddenRows rows, std::int64_t begin);
    HiddenRows joined(std::int64_t rows) const {
        return hidden(prediction(0).joined, rows, 2 * config_.hidden);
    }
    // Adds delta to x on all ranks, and checks that all sums are finite. normed_rows() are x afterwards.
    void add_everywhere(FloatRows x, FloatRows delta, SentinelPlace place);
    // layer: the number of the last layer that the pass has.
    FloatRows run_head(FloatRows x, FloatRows delta, const BatchView& batch, int layer);
    HiddenRows head_input(FloatRows x, FloatRows delta, const BatchView& batch, int layer);
    std::string clamp_advice(const SentinelPlace& place) const;
    static HiddenRows hidden(const std::unique_ptr<OpsMemory>& memory, std::int64_t rows,
                             std::int64_t columns) {
        return {memory->data(), rows, columns};
    }
    static FloatRows floats(const std::unique_ptr<OpsMemory>& memory, std::int64_t rows,
                            std::int64_t columns) {
        return {static_cast<float*>(memory->data()), rows, columns};
    }

    ModelConfig config_;
    Ops& ops_;
    DecoderLinks& links_;
    DecoderSettings settings_;
    RankShare share_;
    bool has_adapters_;
    std::vector<std::int64_t> word_begin_;  // (ranks + 1)
    KvCacheShape cache_shape_;
    std::unique_ptr<KvCache> cache_;
    std::unique_ptr<PageStore> page_store_;  // null without host_pages
    std::unique_ptr<RopeTables> rope_;
    // Null in predictions. head_: also if it is embedding_.
    std::unique_ptr<WeightMatrix> embedding_, head_;
    Norm output_norm_;                        // empty in predictions
    std::vector<Prediction> predictions_;     // for each layer, if predicts()
    std::unique_ptr<OpsMemory> hidden_rows_;  // null without prediction_rows
    std::unique_ptr<StateFusion> fusion_;     // null without read_layers
    std::unique_ptr<AttentionBuffers> attention_buffers_;
    std::unique_ptr<FeedForwardBuffers> feed_forward_buffers_;
    std::vector<Layer> layers_;
    std::unique_ptr<WholeLayers> whole_;  // null without rows_to_cut
    std::int64_t first_row_ = 0;          // of the last pass, that this rank computed
    // Null if all experts of this stage are on the device. Ends before the layers, because its threads may
    // still read their weights.
    std::unique_ptr<HostExperts> host_experts_;
    Buffers buffers_;
    // DecoderLinks::joint_output(): the place of all normed rows, instead of buffers_.hidden.
    // nullptr: sums and norms are apart.
    void* joint_ = nullptr;
};

}  // namespace voltpile::llm
