#include "llm/bench/bench_sequences.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "base/seconds_since.h"
#include "llm/decoder/batch_builder.h"
#include "llm/engine/engine.h"

namespace voltpile::llm {
namespace {

using Clock = std::chrono::steady_clock;

// Runs passes of some lanes, in turn, with as many in flight as an engine would have.
class LanePasses {
  public:
    explicit LanePasses(PassExecutor& passes, int lanes = 1)
        : passes_(passes), lanes_(lanes), most_(passes.feeds() ? 2 : lanes) {}

    void enqueue(Batch batch) {
        if (in_flight_ == most_) collect();
        std::vector<Draw> draws(batch.logit_row.size(), Draw{greedy_, 0, nullptr, 0});
        passes_.enqueue({next_lane_, std::move(batch), std::move(draws)});
        next_lane_ = (next_lane_ + 1) % lanes_;
        ++in_flight_;
    }
    void collect_all() {
        while (in_flight_ > 0) collect();
    }

  private:
    void collect() {
        --in_flight_;
        for (const DrawnToken& each : passes_.collect())
            if (each.token < 0) throw LeaderError(ExitCode::Failed, passes_.why_no_numbers());
    }

    PassExecutor& passes_;
    int lanes_, next_lane_ = 0;
    int most_;
    int in_flight_ = 0;
    std::shared_ptr<const SamplingSettings> greedy_ = std::make_shared<const SamplingSettings>();
};

}  // namespace

void BenchSequences::make_room(int tokens) {
    for (SequencePages& pages : pages_)
        if (!pages.reserve(tokens)) throw std::logic_error("too few KV cache pages for this benchmark");
}

std::vector<std::int32_t> BenchSequences::prompt(int sequence, int tokens) const {
    std::vector<std::int32_t> prompt;
    for (int i = 0; i < tokens; ++i) prompt.push_back(token(sequence, i));
    return prompt;
}

void BenchSequences::place(int count, int tokens) {
    pages_.clear();
    pool_ = PagePool(pool_.pages());
    for (int i = 0; i < count; ++i) pages_.emplace_back(pool_);
    make_room(tokens);
    position_ = tokens;
}

void BenchSequences::prefill(PassExecutor& executor, int count, int tokens) {
    place(count, tokens);
    LanePasses passes(executor);
    BatchBuilder builder;
    int used = 0;
    for (int sequence = 0; sequence < count; ++sequence) {
        const std::vector<std::int32_t> prompt = this->prompt(sequence, tokens);
        for (int at = 0; at < tokens;) {
            const int piece = std::min(rows_ - used, tokens - at);
            builder.add(
                pages_[static_cast<std::size_t>(sequence)],
                std::span(prompt).subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(piece)), at,
                at + piece == tokens ? WantLogits::Last : WantLogits::None,
                adapter(static_cast<std::size_t>(sequence)));
            at += piece;
            used += piece;
            if (used == rows_) passes.enqueue(builder.take());
            used %= rows_;
        }
    }
    if (used > 0) passes.enqueue(builder.take());
    passes.collect_all();
}

BenchSequences::Answered BenchSequences::answer_prompt(ReplicaPasses& passes, int tokens) const {
    Request request;
    request.prompt = prompt(0, tokens);
    request.max_tokens = 1;
    EngineSettings settings{passes.settings(), {}};
    settings.adapters = adapters_;
    if (!adapters_.empty()) request.lora = adapters_.front();
    Engine engine(passes, nullptr, std::move(settings));
    const auto begin = Clock::now();
    engine.submit(std::move(request));
    while (!engine.idle())
        for (const Outcome& outcome : engine.step())
            if (outcome.finish == Finish::Failed) throw LeaderError(ExitCode::Failed, outcome.error);
    return {seconds_since(begin), static_cast<int>(engine.counters().passes)};
}

Batch BenchSequences::next_batch(int lane, int lanes) {
    make_room(position_ + 1);
    BatchBuilder builder;
    for (auto sequence = static_cast<std::size_t>(lane); sequence < pages_.size();
         sequence += static_cast<std::size_t>(lanes)) {
        const std::int32_t next = token(static_cast<int>(sequence), position_);
        builder.add(pages_[sequence], {&next, 1}, position_, WantLogits::Last, adapter(sequence));
    }
    return builder.take();
}

Batch BenchSequences::prompt_batch(int tokens) {
    const int piece = std::min(tokens, rows_);
    place(1, piece);
    BatchBuilder builder;
    builder.add(pages_.front(), prompt(0, piece), 0, WantLogits::Last, adapter(0));
    return builder.take();
}

int BenchSequences::passes_of_step(const PassExecutor& executor) const {
    return std::min(executor.lanes(), static_cast<int>(pages_.size()));
}

double BenchSequences::generate(PassExecutor& executor, int steps) {
    const auto begin = Clock::now();
    const int lanes = passes_of_step(executor);
    LanePasses passes(executor, lanes);
    for (int i = 0; i < steps; ++i) {
        for (int lane = 0; lane < lanes; ++lane) passes.enqueue(next_batch(lane, lanes));
        ++position_;
    }
    passes.collect_all();
    return seconds_since(begin);
}

}  // namespace voltpile::llm
