#include "llm/decoder/decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace voltpile::llm {
namespace {

// The origin of a sum that a norm finds not finite. LastFeedForward counts only rows with logits.
enum Operation { Input, AfterAttention, FeedForward, LastFeedForward, Latent };
constexpr const char* operation_names[] = {"input", "attention", "feed-forward part", "feed-forward part",
                                           "latent vectors"};

// The origin of the sum before a layer. first: of a stage.
SentinelPlace before_layer(int number, bool first) {
    return first ? SentinelPlace{number, Input} : SentinelPlace{number - 1, FeedForward};
}

}  // namespace

void Decoder::receive(const BatchView& batch) {
    if (!first_stage())
        links_.receive_from_previous(floats(buffers_.x, batch.rows, config_.hidden),
                                     states_before(settings_.layer_begin, batch.rows));
}

void Decoder::send(const BatchView& batch) {
    if (!last_stage())
        links_.send_to_next(floats(buffers_.x, batch.rows, config_.hidden),
                            states_before(settings_.layer_end, batch.rows));
}

FloatRows Decoder::compute(const BatchView& batch, int prediction_layer) {
    const FloatRows x = floats(buffers_.x, batch.rows, config_.hidden);
    if (first_stage())
        ops_.embed(embedding(prediction_layer), batch,
                   static_cast<float>(config_.embedding_scale / config_.residual_scale), x);
    if (is_eagle_head())
        begin_head(prediction(prediction_layer), x, batch);
    else if (predicts())
        join_hidden(prediction(prediction_layer), x, batch);
    const int first = predicts() ? prediction_layer : 0;
    const int end = predicts() ? first + 1 : static_cast<int>(layers_.size());
    const bool by_rows = cuts_by_rows(batch);
    first_row_ = 0;
    FloatRows delta;
    if (by_rows)
        run_by_rows(x, batch);
    else
        delta = run_by_heads(x, batch, first, end);
    if (fusion_ && last_stage()) ops_.store_rows(fusion_->fuse(batch.rows), batch, hidden_rows());
    const int last = settings_.layer_begin + end - 1;
    if (last_stage() && (by_rows || joint_ == nullptr)) return run_head(x, delta, batch, last);
    if (!last_stage()) {
        if (!by_rows) ops_.normed(add_and_norm(x, delta, {}, {last, FeedForward}));
        return {};
    }
    add_everywhere(x, delta, {last, FeedForward});
    return run_head(x, {}, batch, last);
}

FloatRows Decoder::run_by_heads(FloatRows x, const BatchView& batch, int first, int end) {
    FloatRows delta;
    for (int i = first; i < end; ++i) {
        if (const int number = settings_.layer_begin + i; fusion_ && fusion_->reads(number)) {
            add_everywhere(x, delta, before_layer(number, i == first));
            delta = {};
            fusion_->take(number, normed_rows(x.rows));
        }
        delta = run_layer(layers_[static_cast<std::size_t>(i)], i, x, delta, batch, cache_->layer(i));
    }
    return delta;
}

void Decoder::add_everywhere(FloatRows x, FloatRows delta, SentinelPlace place) {
    ops_.normed(add_and_norm(x, delta, {}, place));
    if (joint_ != nullptr && delta.data != nullptr) links_.complete(x);
}

RmsNorm Decoder::add_and_norm(FloatRows x, AddedRows delta, const Norm& norm, SentinelPlace place) {
    RmsNorm out = norm.of_stream(x, delta, normed_rows(x.rows), place);
    out.done = joint_ != nullptr && delta.data != nullptr;
    if (out.done) links_.add_rms_norm(x, delta, out.weight, out.eps, place);
    return out;
}

FloatRows Decoder::run_layer(const Layer& layer, int index, FloatRows x, FloatRows delta,
                             const BatchView& batch, const KvLayer& cache) {
    const int number = settings_.layer_begin + index;
    const FloatRows partial = floats(buffers_.partial, x.rows, config_.hidden);
    // Returns what is not yet added to x.
    const auto finish = [&](PartOutput use, const Norm& norm, SentinelPlace place) {
        if (use == PartOutput::Added) return FloatRows{};
        if (joint_ == nullptr) {
            links_.all_reduce(partial);
            norm.apply(ops_, partial, place);
        }
        return partial;
    };
    const auto out_of = [&](PartOutput use) { return use == PartOutput::Added ? x : partial; };

    const Attention& attention = layer.attention;
    const RmsNorm input =
        add_and_norm(x, delta, layer.attention_norm, before_layer(number, index == 0 || predicts()));
    const HiddenRows attended =
        attention.run(ops_, links_, attention_input(input), batch, cache, {number, Latent});
    PartOutput use = use_of_output(layer.attention_output_norm, attention.adds(ops_, x.rows));
    attention.output(ops_, attended, batch, out_of(use), use);
    const SentinelPlace after_attention{number, AfterAttention};
    AddedRows added{finish(use, layer.attention_output_norm, after_attention)};
    if (added.data != nullptr) added.bias = attention.output_bias();

    const RmsNorm normed = add_and_norm(x, added, layer.feed_forward_norm, after_attention);
    use = use_of_output(layer.feed_forward_output_norm, layer.feed_forward->adds(ops_, x.rows));
    layer.feed_forward->run(ops_, normed, batch, *feed_forward_buffers_, out_of(use), use);
    return finish(use, layer.feed_forward_output_norm, {number, FeedForward});
}

bool Decoder::cuts_by_rows(const BatchView& batch) const {
    const int least = std::max(settings_.rows_to_cut, settings_.ranks * settings_.ranks);  // rows for each
    return whole_ && batch.rows >= least && !batch.replayed;
}

void Decoder::run_by_rows(FloatRows x, const BatchView& batch) {
    const IndexRange rows = whole_->own(batch.rows);
    first_row_ = static_cast<std::int64_t>(rows.begin);
    const FloatRows mine{x.data + first_row_ * x.columns, static_cast<std::int64_t>(rows.size()), x.columns};
    BatchView own = batch;
    own.rows = static_cast<int>(rows.size());
    own.token += first_row_;
    own.position += first_row_;
    own.sequence += first_row_;
    FloatRows delta;
    for (int i = 0; i < static_cast<int>(layers_.size()); ++i) {
        if (const int number = settings_.layer_begin + i; fusion_ && fusion_->reads(number)) {
            if (delta.data != nullptr) gather_rows(x, std::exchange(delta, {}), before_layer(number, false));
            fusion_->take(number, ops_.normed({x, nullptr, 0, {number, Input}, normed_rows(x.rows)}));
        }
        delta = run_whole_layer(i, mine, delta, own, batch);
    }
    gather_rows(x, delta, {settings_.layer_end - 1, FeedForward});
}

void Decoder::gather_rows(FloatRows x, FloatRows delta, SentinelPlace place) {
    const std::int64_t share = joint_share(x.rows, settings_.ranks);
    const FloatRows mine{x.data + settings_.rank * share * x.columns, share, x.columns};
    Norm().add(ops_, {mine.data, delta.rows, x.columns}, delta, whole_->normed(delta.rows), place);
    links_.all_gather(mine, x);
}

FloatRows Decoder::run_whole_layer(int index, FloatRows x, FloatRows delta, const BatchView& own,
                                   const BatchView& batch) {
    const Layer& layer = layers_[static_cast<std::size_t>(index)];
    const int number = settings_.layer_begin + index;
    const SentinelPlace after_attention{number, AfterAttention};
    const auto normed = [&](AddedRows added, const Norm& norm, SentinelPlace place) {
        return norm.of_stream(x, added, whole_->normed(x.rows), place);
    };
    const FloatRows partial = floats(buffers_.partial, x.rows, config_.hidden);
    const HiddenRows qkv =
        whole_->project(index, normed(delta, layer.attention_norm, before_layer(number, index == 0)),
                        batch.rows, {number, Latent});
    layer.attention.attend(ops_, links_, qkv, batch, cache_->layer(index), whole_->attended(batch.rows));
    whole_->output(index, batch.rows, partial);
    layer.attention_output_norm.apply(ops_, partial, after_attention);
    const AddedRows attention{partial, layer.attention.output_bias()};
    whole_->feed_forward(index, normed(attention, layer.feed_forward_norm, after_attention), own, partial);
    layer.feed_forward_output_norm.apply(ops_, partial, {number, FeedForward});
    return partial;
}

void Decoder::join_hidden(const Prediction& prediction, FloatRows x, const BatchView& batch) {
    const HiddenRows normed = normed_rows(x.rows);
    const FloatRows partial = floats(buffers_.partial, x.rows, config_.hidden);
    prediction.embedding_norm.add(ops_, x, {}, normed, {0, Input});
    ops_.matmul(normed, *prediction.of_embedding, x);
    ops_.recall_rows(settings_.predicts_for->hidden_rows(), batch, partial);
    prediction.hidden_norm.add(ops_, partial, {}, normed, {0, Input});
    ops_.matmul(normed, *prediction.of_hidden, partial);
    Norm().add(ops_, x, partial, normed, {0, Input});
}

void Decoder::begin_head(const Prediction& head, FloatRows x, const BatchView& batch) {
    const HiddenRows normed = normed_rows(x.rows);
    head.embedding_norm.add(ops_, x, {}, normed, {0, Input});
    join(normed, 0);
    ops_.recall_rows(settings_.predicts_for->hidden_rows(), batch, x);
    head.hidden_norm.apply(ops_, x, {0, Input});
}

RmsNorm Decoder::attention_input(const RmsNorm& normed) {
    if (!is_eagle_head()) return normed;
    join(ops_.normed(normed), config_.hidden);
    RmsNorm input;
    input.out = joined(normed.out.rows);
    input.done = true;
    return input;
}

void Decoder::join(HiddenRows rows, std::int64_t begin) {
    ops_.copy_heads(rows, {0, rows.columns, rows.columns}, 1, joined(rows.rows),
                    {begin, rows.columns, rows.columns});
}

HiddenRows Decoder::predicted_rows(std::int64_t rows) const {
    const HiddenRows all = hidden_rows();
    const std::int64_t first = all.rows - settings_.prediction_rows;
    const auto skipped = static_cast<std::size_t>(first * all.columns) * bytes_of(ops_.hidden_element());
    return {static_cast<std::byte*>(all.data) + skipped, rows, all.columns};
}

// Computes the rows that the head multiplies, one for each row of logits. What predicts for a model reads the
// inputs of the head for all rows, and so does the next pass of a prediction layer; that of an EAGLE 3 head
// reads all rows as they are before the norm.
HiddenRows Decoder::head_input(FloatRows x, FloatRows delta, const BatchView& batch, int layer) {
    const Norm& norm = predicts() ? prediction(layer).output_norm : output_norm_;
    const HiddenRows kept =
        predicts() ? settings_.predicts_for->predicted_rows(batch.rows) : normed_rows(batch.rows);
    if (norms_all_rows()) {
        const HiddenRows chosen = hidden(buffers_.head_input, batch.logits, config_.hidden);
        norm.add(ops_, x, delta, kept, {layer, FeedForward});
        if (!predicts()) ops_.store_rows(kept, batch, hidden_rows());
        if (batch.logits > 0) ops_.gather_rows(kept, batch, chosen);
        return chosen;
    }
    if (is_eagle_head()) {
        Norm().add(ops_, x, delta, kept, {layer, FeedForward});
        delta = {};
    }
    const HiddenRows normed = normed_rows(batch.logits);
    if (batch.logits == 0) return normed;
    const FloatRows last = floats(buffers_.last, batch.logits, config_.hidden);
    ops_.gather_float_rows(x, batch, last);
    FloatRows last_delta;
    if (delta.data != nullptr) {
        last_delta = floats(buffers_.last_partial, batch.logits, config_.hidden);
        ops_.gather_float_rows(delta, batch, last_delta);
    }
    norm.add(ops_, last, last_delta, normed, {layer, LastFeedForward});
    return normed;
}

FloatRows Decoder::run_head(FloatRows x, FloatRows delta, const BatchView& batch, int layer) {
    const HiddenRows normed = head_input(x, delta, batch, layer);
    const WeightMatrix& head = this->head(layer);
    const FloatRows logits = floats(buffers_.logits, batch.logits, config_.vocab);
    if (batch.logits == 0) return logits;
    const auto cap = static_cast<float>(config_.logit_soft_cap);
    if (settings_.ranks == 1) {
        ops_.matmul(normed, head, logits);
        if (cap > 0) ops_.soft_cap(logits, cap);
        return logits;
    }
    const std::int64_t words = (config_.vocab + settings_.ranks - 1) / settings_.ranks;
    const FloatRows part = floats(buffers_.logits_part, batch.logits, head.rows());
    const FloatRows parts =
        floats(buffers_.logits_parts, std::int64_t{batch.logits} * settings_.ranks, words);
    ops_.matmul(normed, head, part);
    if (cap > 0) ops_.soft_cap(part, cap);
    // Ranks with fewer words than others leave the end of their piece unused.
    links_.all_gather({part.data, batch.logits, words}, parts);
    ops_.join_columns(parts, word_begin_, logits);
    return logits;
}

// Suggests --clamp for a sum that is not finite; empty if no fp16 number went into the sum. On GPUs all
// inputs of matrix products are fp16, on processors only the keys and values of an fp16 or int4 cache (int8
// and fp32 caches have no fp16 numbers).
std::string Decoder::clamp_advice(const SentinelPlace& place) const {
    const bool half_inputs = ops_.hidden_element() == Element::F16;
    const bool half_cache = (settings_.cache == KvElement::F16 || settings_.cache == KvElement::I4) &&
                            place.operation == AfterAttention;
    if (settings_.clamp || place.operation == Input || !(half_inputs || half_cache)) return "";
    return fmt::format(
        "; if {} exceeded 65504, the largest number of fp16, --clamp on (engine.clamp = true in a job) "
        "limits it to that",
        half_inputs                        ? "an activation"
        : settings_.cache == KvElement::I4 ? "a rotated key or value"
                                           : "a key or value");
}

void Decoder::check(const Batch& batch) {
    const SentinelReport report = ops_.take_sentinel();
    check_host();
    if (!report.tripped) return;
    const bool in_head = report.place.operation == LastFeedForward;
    auto row = static_cast<std::size_t>(report.row + (in_head ? 0 : first_row_));
    if (in_head && row < batch.logit_row.size()) row = static_cast<std::size_t>(batch.logit_row[row]);
    // With these, norms of all rows and of this rank's rows have the same places.
    const bool known = first_row_ == 0 || !(fusion_ || norms_all_rows());
    const std::string sequence =
        known && row < batch.sequence.size()
            ? fmt::format(", sequence {} at position {}", batch.sequence[row], batch.position[row])
            : "";
    throw Error(ExitCode::Failed,
                fmt::format("layer {}: after its {} the hidden state is not finite (rank {} of {}{}){}",
                            report.place.layer, operation_names[report.place.operation], settings_.rank,
                            settings_.ranks, sequence, clamp_advice(report.place)));
}

}  // namespace voltpile::llm
