#include "llm/bench/bench_texts.h"

#include <algorithm>
#include <chrono>

#include "base/seconds_since.h"
#include "llm/decoder/batch_builder.h"

namespace voltpile::llm {

using Clock = std::chrono::steady_clock;

void BenchTexts::make_room(int tokens) {
    for (SequencePages& pages : pages_)
        if (!pages.reserve(tokens)) throw std::logic_error("a bench with too few pages");
}

double BenchTexts::read_prompts(int count, int tokens) {
    pages_.clear();
    for (int i = 0; i < count; ++i) pages_.emplace_back(pool_);
    make_room(tokens);
    position_ = tokens;
    const int rows = replica_.request().rows;
    const auto begin = Clock::now();
    BatchBuilder builder;
    std::vector<SamplingRow> draws;
    int used = 0;
    const auto send = [&] {
        replica_.step(builder.take(), draws);
        draws.clear();
        used = 0;
    };
    for (int text = 0; text < count; ++text) {
        std::vector<std::int32_t> prompt;
        for (int i = 0; i < tokens; ++i) prompt.push_back(token(text, i));
        for (int at = 0; at < tokens;) {
            const int piece = std::min(rows - used, tokens - at);
            const bool last = at + piece == tokens;
            builder.add(
                pages_[static_cast<std::size_t>(text)],
                std::span(prompt).subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(piece)), at,
                last ? WantLogits::Last : WantLogits::None);
            if (last) draws.push_back({&greedy_, 0, nullptr});
            at += piece;
            used += piece;
            if (used == rows) send();
        }
    }
    if (used > 0) send();
    return seconds_since(begin);
}

Batch BenchTexts::next_batch() {
    make_room(position_ + 1);
    BatchBuilder builder;
    for (std::size_t text = 0; text < pages_.size(); ++text) {
        const std::int32_t next = token(static_cast<int>(text), position_);
        builder.add(pages_[text], {&next, 1}, position_, WantLogits::Last);
    }
    return builder.take();
}

Batch BenchTexts::prompt_batch(int tokens) {
    const int piece = std::min(tokens, replica_.request().rows);
    make_room(piece);
    std::vector<std::int32_t> prompt;
    for (int i = 0; i < piece; ++i) prompt.push_back(token(0, i));
    BatchBuilder builder;
    builder.add(pages_.front(), prompt, 0, WantLogits::Last);
    return builder.take();
}

double BenchTexts::generate(int steps) {
    const std::vector<SamplingRow> draws(pages_.size(), SamplingRow{&greedy_, 0, nullptr});
    const auto begin = Clock::now();
    for (int i = 0; i < steps; ++i) {
        replica_.step(next_batch(), draws);
        ++position_;
    }
    return seconds_since(begin);
}

}  // namespace voltpile::llm
