#include "llm/decoder/pass_runner.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

namespace voltpile::llm {
namespace {

constexpr int least_context = 128;  // shorter contexts use the same attention kernels

int rounded_up(int value, int step) {
    return (value + step - 1) / step * step;
}

// Whether each row has logits and each sequence one row or, as guesses ahead have, a few.
bool few_rows_each(const Batch& batch, const BatchLimits& limits) {
    constexpr int few = 65;  // a token and the most guesses (engine.draft_tokens)
    if (batch.token.empty() || batch.logit_row.size() != batch.token.size()) return false;
    if (batch.token.size() > static_cast<std::size_t>(limits.sequences)) return false;
    for (std::size_t s = 0; s + 1 < batch.row_begin.size(); ++s)
        if (batch.row_begin[s + 1] - batch.row_begin[s] > few) return false;
    return true;
}

// The same batch with a sequence for each row. Rows of one sequence share its pages: each sees the keys and
// values of those before it, because a layer stores all of them before its attention.
Batch rows_apart(Batch batch) {
    if (batch.token.size() + 1 == batch.row_begin.size()) return batch;
    const auto rows = batch.token.size(), pages = static_cast<std::size_t>(batch.max_pages);
    std::vector<std::int32_t> table;
    table.reserve(rows * pages);
    for (const std::int32_t sequence : batch.sequence) {
        const auto begin = batch.page_table.begin() +
                           static_cast<std::ptrdiff_t>(pages) * static_cast<std::ptrdiff_t>(sequence);
        table.insert(table.end(), begin, begin + static_cast<std::ptrdiff_t>(pages));
    }
    batch.page_table = std::move(table);
    batch.row_begin.resize(rows + 1);
    std::iota(batch.row_begin.begin(), batch.row_begin.end(), 0);
    std::iota(batch.sequence.begin(), batch.sequence.end(), 0);
    return batch;
}

// Bytes for each row's token and log-probability, and those of its top_n most probable tokens.
constexpr std::size_t values_bytes(std::size_t rows, int top_n) {
    static_assert(sizeof(float) == sizeof(std::int32_t));
    return 2 * rows * static_cast<std::size_t>(1 + top_n) * sizeof(float);
}

// Adds greedy draws for rows of padding.
std::vector<SamplingRow> filled_up(std::span<const SamplingRow> sampling, std::size_t rows) {
    static const SamplingSettings greedy;
    std::vector<SamplingRow> all(sampling.begin(), sampling.end());
    all.resize(rows, SamplingRow{&greedy});
    return all;
}

template <class T>
T value_at(std::span<const std::byte> bytes, std::size_t index) {
    T value;
    std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
    return value;
}

// The largest upload of a pass within the limits, without token histories and logit biases.
std::size_t most_bytes(const BatchLimits& limits, bool predicts) {
    const auto rows = static_cast<std::size_t>(limits.rows), logits = static_cast<std::size_t>(limits.logits),
               sequences = static_cast<std::size_t>(limits.sequences);
    Batch batch;
    batch.token.resize(rows);
    batch.position.resize(rows);
    batch.sequence.resize(rows);
    batch.row_begin.resize(sequences + 1);
    batch.logit_row.resize(logits);
    batch.page_table.resize(sequences * static_cast<std::size_t>(limits.pages_per_sequence));
    batch.adapter.resize(rows);
    if (predicts) batch.hidden_row.resize(rows);
    const SamplingSettings greedy;
    return upload_bytes(batch) + upload_bytes(std::vector(logits, SamplingRow{&greedy, 0, nullptr}));
}

}  // namespace

StepShape step_shape(int rows, int context, const BatchLimits& limits) {
    const int row_step = rows <= 8 ? 1 : rows <= 64 ? 8 : 32;
    const int most_rows = std::min({limits.rows, limits.sequences, limits.logits});
    const auto power = static_cast<int>(std::bit_ceil(static_cast<unsigned>(context)));
    return {std::min(rounded_up(rows, row_step), most_rows),
            std::min(std::max(power, least_context), limits.pages_per_sequence * kv_page_tokens)};
}

Batch filled_up(Batch batch, const StepShape& shape) {
    const int pages = shape.context / kv_page_tokens;
    std::vector<std::int32_t> table(static_cast<std::size_t>(shape.rows * pages));
    for (std::size_t s = 0; s < batch.token.size(); ++s)
        std::copy_n(batch.page_table.begin() + static_cast<std::ptrdiff_t>(s) * batch.max_pages,
                    batch.max_pages, table.begin() + static_cast<std::ptrdiff_t>(s) * pages);
    batch.page_table = std::move(table);
    batch.max_pages = pages;
    const auto rows = static_cast<std::size_t>(shape.rows);
    for (auto row = static_cast<std::int32_t>(batch.token.size()); row < shape.rows; ++row) {
        batch.row_begin.push_back(row + 1);
        batch.logit_row.push_back(row);
    }
    batch.token.resize(rows, 0);
    batch.position.resize(rows, 0);
    batch.sequence.resize(rows, -1);
    if (!batch.adapter.empty()) batch.adapter.resize(rows, -1);
    if (!batch.hidden_row.empty()) batch.hidden_row.resize(rows, 0);
    return batch;
}

PassRunner::PassRunner(Decoder& decoder, Ops& ops, const BatchLimits& limits, bool replays)
    : decoder_(decoder),
      ops_(ops),
      limits_(limits),
      replays_(replays),
      block_(ops),
      draw_block_(ops),
      drawn_(ops.allocate(values_bytes(static_cast<std::size_t>(limits.logits), Ops::most_top))) {
    block_.begin(
        most_bytes(limits, decoder.predicts()));  // allocates now, so that addresses in recordings stay valid
    for (int i = 0; i < most_under_way; ++i) copies_.push_back(ops.make_host_copy(drawn_->bytes()));
}

FloatRows PassRunner::forward(const Batch& batch) {
    check_limits(batch, limits_);
    block_.begin(upload_bytes(batch));
    const BatchView view = add_to(block_, batch);
    block_.send();
    draws_ = 0;
    return logits_ = decoder_.forward(view, batch.prediction_layer);
}

void PassRunner::enqueue(const Batch& batch, std::span<const SamplingRow> sampling) {
    enqueue_pass(batch, sampling);
}

void PassRunner::enqueue_logits(const Batch& batch) {
    enqueue_pass(batch, std::nullopt);
}

void PassRunner::enqueue_pass(const Batch& batch, const Rows& sampling) {
    check_limits(batch, limits_);
    draws_ = decoder_.last_stage() ? batch.logit_row.size() : 0;
    top_n_ = draws_ == 0 || !sampling ? 0 : largest_top_n(*sampling);
    const bool replays = replays_ && few_rows_each(batch, limits_);
    StepShape shape;
    if (replays)
        shape =
            step_shape(static_cast<int>(batch.token.size()), std::ranges::max(batch.position) + 1, limits_);
    Batch sent = replays ? filled_up(rows_apart(batch), shape) : batch;
    if (decoder_.predicts()) sent.hidden_row.resize(sent.token.size(), 0);  // none in measured passes
    if (decoder_.always_adapted()) sent.adapter.resize(sent.token.size(), -1);
    std::vector<SamplingRow> rows;
    if (sampling) rows = filled_up(*sampling, decoder_.last_stage() ? sent.logit_row.size() : 0);

    block_.begin(upload_bytes(sent) + (sampling ? upload_bytes(rows) : 0));
    BatchView view = add_to(block_, sent);
    view.drawn = static_cast<const std::int32_t*>(drawn_->data());
    std::optional<SamplingView> draws;
    if (sampling) draws = add_to(block_, rows);
    block_.send();
    decoder_.receive(view);
    if (replays) {
        view.max_context = shape.context;
        view.replayed = true;
        replay(shape, view, batch.prediction_layer, draws);
    } else {
        logits_ = compute(view, batch.prediction_layer, draws);
    }
    if (top_n_ > 0) add_top();
    decoder_.send(view);
}

void PassRunner::draw(std::span<const SamplingRow> sampling) {
    top_n_ = largest_top_n(sampling);
    const std::vector<SamplingRow> rows = filled_up(sampling, static_cast<std::size_t>(logits_.rows));
    draw_block_.begin(upload_bytes(rows));
    const SamplingView view = add_to(draw_block_, rows);
    draw_block_.send();
    sample(logits_, view);
    if (top_n_ > 0) add_top();
}

FloatRows PassRunner::compute(const BatchView& batch, int prediction_layer,
                              const std::optional<SamplingView>& sampling) {
    const FloatRows logits = decoder_.compute(batch, prediction_layer);
    if (logits.rows > 0 && sampling) sample(logits, *sampling);
    return logits;
}

void PassRunner::sample(const FloatRows& logits, const SamplingView& sampling) {
    auto* tokens = static_cast<std::int32_t*>(drawn_->data());
    ops_.sample(logits, sampling, tokens, reinterpret_cast<float*>(tokens + logits.rows));
}

void PassRunner::replay(const StepShape& shape, const BatchView& batch, int prediction_layer,
                        const std::optional<SamplingView>& sampling) {
    Recorded& known = recorded_[{shape, sampling.has_value(), batch.adapter != nullptr, prediction_layer}];
    if (known.batch != batch || known.sampling != sampling) {  // a new shape, or the upload block has moved
        known.recording.reset();
        known = {batch, sampling, compute(batch, prediction_layer, sampling), nullptr};
    } else {
        if (!known.recording)
            known.recording = ops_.record(
                [this, batch, prediction_layer, sampling] { compute(batch, prediction_layer, sampling); });
        known.recording->replay();
    }
    logits_ = known.logits;
}

// Not recorded, because it is seldom needed.
void PassRunner::add_top() {
    auto* tokens = static_cast<std::int32_t*>(drawn_->data()) + 2 * logits_.rows;
    ops_.top_log_probabilities(logits_, top_n_, tokens,
                               reinterpret_cast<float*>(tokens + logits_.rows * top_n_));
}

DrawsUnderWay PassRunner::send_draws() {
    HostCopy& copy = *copies_[next_copy_];
    next_copy_ = (next_copy_ + 1) % copies_.size();
    const auto rows = draws_ == 0 ? 0 : static_cast<std::size_t>(logits_.rows);
    // Copies even if nothing was drawn, because the host waits for the pass through this copy.
    copy.start(drawn_->data(), std::max(values_bytes(rows, top_n_), sizeof(std::int32_t)));
    return {copy, rows, draws_, top_n_};
}

Draws DrawsUnderWay::wait() const {
    const std::span<const std::byte> bytes = copy_->wait();
    const auto n = static_cast<std::size_t>(top_n_);
    Draws draws;
    for (std::size_t i = 0; i < draws_; ++i) {
        draws.tokens.push_back({value_at<std::int32_t>(bytes, i), value_at<float>(bytes, rows_ + i)});
        if (n == 0) continue;
        TopTokens& top = draws.top.emplace_back();
        for (std::size_t k = 0; k < n; ++k) {
            top.token.push_back(value_at<std::int32_t>(bytes, 2 * rows_ + i * n + k));
            top.log_probability.push_back(value_at<float>(bytes, (2 + n) * rows_ + i * n + k));
        }
    }
    return draws;
}

int largest_top_n(std::span<const SamplingRow> rows) {
    int most = 0;
    for (const SamplingRow& row : rows) most = std::max(most, row.top_n);
    return most;
}

std::size_t Draws::message_bytes(std::size_t draws, int top_n) {
    return values_bytes(std::max<std::size_t>(draws, 1), top_n);
}

std::vector<std::byte> Draws::to_message() const {
    const int top_n = top.empty() ? 0 : static_cast<int>(top.front().token.size());
    std::vector<std::byte> bytes(message_bytes(tokens.size(), top_n));
    std::byte* at = bytes.data();
    const auto add = [&at](const auto& value) {
        std::memcpy(at, &value, sizeof value);
        at += sizeof value;
    };
    for (const DrawnToken& each : tokens) {
        add(each.token);
        add(each.log_probability);
    }
    for (const TopTokens& each : top)
        for (std::size_t k = 0; k < each.token.size(); ++k) {
            add(each.token[k]);
            add(each.log_probability[k]);
        }
    return bytes;
}

Draws Draws::from_message(std::span<const std::byte> bytes, std::size_t draws, int top_n) {
    Draws out;
    std::size_t at = 0;
    for (std::size_t i = 0; i < draws; ++i, at += 2)
        out.tokens.push_back({value_at<std::int32_t>(bytes, at), value_at<float>(bytes, at + 1)});
    for (std::size_t i = 0; top_n > 0 && i < draws; ++i) {
        TopTokens& each = out.top.emplace_back();
        for (int k = 0; k < top_n; ++k, at += 2) {
            each.token.push_back(value_at<std::int32_t>(bytes, at));
            each.log_probability.push_back(value_at<float>(bytes, at + 1));
        }
    }
    return out;
}

}  // namespace voltpile::llm
