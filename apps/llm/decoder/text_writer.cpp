#include "llm/decoder/text_writer.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/seconds_since.h"
#include "llm/decoder/batch_builder.h"

namespace voltpile::llm {
namespace {

constexpr int prompt_piece = 256;  // rows of a pass

}  // namespace

BatchLimits single_text_limits(int tokens) {
    return {std::min(prompt_piece, tokens), 1, (tokens + kv_page_tokens - 1) / kv_page_tokens, 1};
}

TextWriter::TextWriter(Step step, std::vector<std::int64_t> end_ids, int room)
    : step_(std::move(step)),
      end_ids_(std::move(end_ids)),
      room_(room),
      pool_(single_text_limits(room).pages_per_sequence),
      pages_(pool_) {}

// Draws the token after them.
DrawnToken TextWriter::process(std::span<const std::int32_t> tokens, const SamplingSettings& sampling) {
    const SamplingRow row{&sampling, drawn_, &history_};
    for (;;) {
        const auto piece = tokens.first(std::min<std::size_t>(tokens.size(), prompt_piece));
        tokens = tokens.subspan(piece.size());
        const int position = cached();
        pages_.reserve(position + static_cast<int>(piece.size()));
        BatchBuilder builder;
        builder.add(pages_, piece, position, tokens.empty() ? WantLogits::Last : WantLogits::None);
        const auto drawn =
            step_(builder.take(), tokens.empty() ? std::span(&row, 1) : std::span<const SamplingRow>());
        cached_.insert(cached_.end(), piece.begin(), piece.end());
        if (tokens.empty()) {
            ++drawn_;
            return drawn.front();
        }
    }
}

Generated TextWriter::write(int begin, std::span<const std::int32_t> prompt, const GenerateSettings& settings,
                            const std::function<bool(std::int32_t)>& told) {
    cached_.resize(static_cast<std::size_t>(begin));
    history_.clear();
    for (const auto& part : {std::span<const std::int32_t>(cached_), prompt})
        for (const std::int32_t token : part) ++history_[token];
    Generated result;
    auto since = std::chrono::steady_clock::now();
    DrawnToken next = process(prompt, settings.sampling);
    result.prompt_seconds = seconds_since(since);
    since = std::chrono::steady_clock::now();
    const auto finished = [&](Finish finish) {
        result.finish = finish;
        result.generation_seconds = seconds_since(since);
        return result;
    };
    for (;;) {
        if (!settings.ignore_end && std::ranges::find(end_ids_, next.token) != end_ids_.end())
            return finished(Finish::End);
        result.tokens.push_back(next.token);
        result.log_probability.push_back(next.log_probability);
        ++history_[next.token];
        if (!told(next.token)) return finished(Finish::Stopped);
        if (std::ssize(result.tokens) >= settings.max_tokens) return finished(Finish::Length);
        if (cached() >= room_) return finished(Finish::Context);
        next = process({&next.token, 1}, settings.sampling);
    }
}

}  // namespace voltpile::llm
