// Answers mixed requests in one engine with few pages, and each request by itself without a scheduler. Tokens
// must be equal and log-probabilities bit-identical.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "llm/engine/engine.h"
#include "llm/unbatched_engine.h"

namespace voltpile::llm {

constexpr int mixed_context = 160;  // tokens of each sequence

// Settings with smaller passes than those of an UnbatchedEngine.
inline SchedulerSettings mixed_settings(int pages, int host_pages = 0) {
    SchedulerSettings settings;
    settings.limits = {40, 16, pages_for(mixed_context), 16};
    settings.pages = pages;
    settings.host_pages = host_pages;
    settings.context = mixed_context;
    settings.sequences = 16;
    settings.mixed_rows = 24;
    settings.pass_rows = 8;  // pieces of 16 to 40 rows
    return settings;
}

class MixedRequests {
  public:
    MixedRequests(const ModelConfig& config, const Tokenizer* tokenizer)
        : config_(config), tokenizer_(tokenizer) {}

    // Cuts prompts of mixed lengths out of `source`, some with a common prefix, and answers each by itself in
    // passes of up to mixed_context rows.
    void answer_unbatched(PassExecutor& executor, std::span<const std::int32_t> source, int count,
                          int longest = 50) {
        std::mt19937 random(3);
        const auto between = [&](int least, int most) {
            return std::uniform_int_distribution(least, most)(random);
        };
        const auto part = [&](int begin, int length) {
            return std::vector(source.begin() + begin, source.begin() + begin + length);
        };
        for (int i = 0; i < count; ++i) {
            Request request;
            request.id = 100 + i;
            if (i % 3 == 0) request.prompt = part(0, 40);  // two whole pages and a half
            const int begin = between(0, static_cast<int>(source.size()) - 60);
            const auto rest = part(begin, i % 8 == 7 ? 60 : between(1, 30));
            request.prompt.insert(request.prompt.end(), rest.begin(), rest.end());
            request.max_tokens = i % 4 == 1 ? longest : between(1, std::min(12, longest));
            request.ignore_end = i % 5 == 0;
            if (i % 2 == 1) {
                request.sampling.temperature = 0.9F;
                request.sampling.top_k = 50;
                request.sampling.top_p = 0.95F;
            }
            request.sampling.seed = static_cast<std::uint64_t>(i);
            if (i % 4 == 1) request.sampling.repetition_penalty = 1.2F;
            if (i % 7 == 2) request.sampling.frequency_penalty = 0.5F;
            if (i % 6 == 4) request.stop_tokens = {request.prompt.front(), request.prompt.back()};
            if (tokenizer_ != nullptr && i % 2 == 0) request.stop = {" the", ", and he", "unto him"};
            requests_.push_back(request);
        }
        for (const Request& request : requests_)
            unbatched_.push_back(UnbatchedEngine(executor, config_, tokenizer_, request).run());
    }

    EngineCounters answer_batched(PassExecutor& executor, int pages, const PassPace& pace = {},
                                  int draft_tokens = 0, Drafter* drafter = nullptr) {
        EngineSettings settings;
        settings.end_ids = config_.eos_ids;
        settings.scheduler = mixed_settings(pages);
        settings.scheduler.pace = pace;
        settings.scheduler.draft_tokens = draft_tokens;
        settings.scheduler.drafter = drafter;
        if (drafter != nullptr) settings.scheduler.draft_pace = PassPace({{1, 1.0}, {40, 1.5}});
        Engine engine(executor, tokenizer_, settings);
        for (const Request& request : requests_) engine.submit(request);
        std::size_t answered = 0;
        while (!engine.idle()) {
            for (const Outcome& outcome : engine.step()) {
                compare(outcome, static_cast<std::size_t>(outcome.id - 100));
                ++answered;
            }
        }
        EXPECT_EQ(answered, requests_.size());
        EXPECT_EQ(engine.counters().scheduler.pages_in_use, 0);
        return engine.counters();
    }

  private:
    void compare(const Outcome& outcome, std::size_t index) {
        const UnbatchedAnswer& unbatched = unbatched_[index];
        EXPECT_EQ(outcome.tokens, unbatched.tokens) << index;
        EXPECT_EQ(outcome.log_probability, unbatched.log_probability) << index;
        EXPECT_EQ(outcome.finish, unbatched.finish) << index;
        EXPECT_EQ(outcome.text, unbatched.text) << index;
        EXPECT_EQ(outcome.prompt_tokens, std::ssize(requests_[index].prompt));
        EXPECT_GE(outcome.token_seconds.size(), outcome.tokens.size());
        EXPECT_TRUE(std::ranges::is_sorted(outcome.token_seconds));
        EXPECT_EQ(outcome.error, "");
    }

    const ModelConfig& config_;
    const Tokenizer* tokenizer_;
    std::vector<Request> requests_;
    std::vector<UnbatchedAnswer> unbatched_;
};

}  // namespace voltpile::llm
