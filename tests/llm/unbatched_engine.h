// Answers one request without a scheduler: the prompt in one pass, then one pass for each token. The
// reference for Engine.
#pragma once

#include <algorithm>

#include "llm/decoder/batch_builder.h"
#include "llm/decoder/kv_pages.h"
#include "llm/engine/request.h"
#include "llm/tokenizer/tokenizer.h"

namespace voltpile::llm {

struct UnbatchedAnswer {
    std::vector<std::int32_t> tokens;
    std::vector<float> log_probability;
    Finish finish = Finish::Length;
    std::string text;
};

class UnbatchedEngine {
  public:
    // tokenizer: nullptr builds no text.
    UnbatchedEngine(PassExecutor& executor, const ModelConfig& config, const Tokenizer* tokenizer,
                    const Request& request)
        : executor_(executor), config_(config), tokenizer_(tokenizer), request_(request) {
        pages_.reserve(pool_.pages() * kv_page_tokens);
    }

    UnbatchedAnswer run() {
        DrawnToken next = pass(request_.prompt);
        while (!ends(next)) next = pass({&answer_.tokens.back(), 1});
        return std::move(answer_);
    }

  private:
    // Runs a pass with the next tokens and returns the token drawn after them.
    DrawnToken pass(std::span<const std::int32_t> tokens) {
        for (const std::int32_t token : tokens) ++history_[token];
        BatchBuilder builder;
        builder.add(pages_, tokens, position_, WantLogits::Last);
        position_ += static_cast<int>(tokens.size());
        executor_.enqueue({0,
                           builder.take(),
                           {{std::make_shared<const SamplingSettings>(request_.sampling), drawn_++,
                             std::make_shared<const std::map<std::int32_t, std::int32_t>>(history_), 0}}});
        return executor_.collect().front();
    }

    bool ends(const DrawnToken& drawn) {
        const auto is_drawn = [&](std::int64_t each) { return each == drawn.token; };
        if (!request_.ignore_end && std::ranges::any_of(config_.eos_ids, is_drawn)) return ends(Finish::End);
        if (std::ranges::any_of(request_.stop_tokens, is_drawn)) return ends(Finish::Stopped);
        answer_.tokens.push_back(drawn.token);
        answer_.log_probability.push_back(drawn.log_probability);
        if (tokenizer_ != nullptr && text_stops()) return ends(Finish::Stopped);
        return std::ssize(answer_.tokens) == request_.max_tokens && ends(Finish::Length);
    }
    bool ends(Finish finish) {
        answer_.finish = finish;
        return true;
    }
    // Searches the whole text for stop strings.
    bool text_stops() {
        const std::string text = tokenizer_->decode(answer_.tokens);
        std::size_t stop = std::string::npos;
        for (const std::string& each : request_.stop) stop = std::min(stop, text.find(each));
        answer_.text = text.substr(0, stop);
        return stop != std::string::npos;
    }

    PassExecutor& executor_;
    const ModelConfig& config_;
    const Tokenizer* tokenizer_;
    const Request& request_;
    PagePool pool_{pages_for(static_cast<int>(request_.prompt.size()) + request_.max_tokens)};
    SequencePages pages_{pool_};
    std::map<std::int32_t, std::int32_t> history_;
    int position_ = 0;
    std::int32_t drawn_ = 0;
    UnbatchedAnswer answer_;
};

}  // namespace voltpile::llm
