#include "llm/decoder/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "llm/decoder/batch_builder.h"

namespace voltpile::llm {
namespace {

constexpr int prompt_piece = 256;  // rows of a pass

double seconds_since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

Step single_rank_step(Decoder& decoder, PassRunner& runner) {
    return [&](const Batch& batch, std::span<const SamplingRow> sampling) {
        runner.enqueue(batch, sampling);
        auto drawn = runner.drawn();
        decoder.check(batch);
        if (std::ranges::any_of(drawn, [](const DrawnToken& each) { return each.token < 0; }))
            throw Error(ExitCode::Failed, "the logits of the model are not finite numbers");
        return drawn;
    };
}

BatchLimits single_text_limits(int tokens) {
    return {std::min(prompt_piece, tokens), 1, (tokens + kv_page_tokens - 1) / kv_page_tokens, 1};
}

DecoderSettings single_text_settings(const ModelConfig& config, int tokens) {
    DecoderSettings settings;
    settings.layer_end = static_cast<int>(config.layers);
    settings.limits = single_text_limits(tokens);
    settings.pages = settings.limits.pages_per_sequence;
    return settings;
}

void check_prompt(std::span<const std::int32_t> prompt, int room) {
    if (prompt.empty()) throw JobError("the prompt is empty");
    if (prompt.size() >= static_cast<std::size_t>(room))
        throw JobError(fmt::format("the prompt of {} tokens leaves no room for more in a context of {}",
                                   prompt.size(), room));
}

Generated generate(const Step& step, const ModelConfig& config, int room,
                   std::span<const std::int32_t> prompt, const GenerateSettings& settings,
                   const std::function<bool(std::int32_t)>& told) {
    check_prompt(prompt, room);
    PagePool pool(single_text_limits(room).pages_per_sequence);
    SequencePages pages(pool);
    std::map<std::int32_t, std::int32_t> history;
    for (const std::int32_t token : prompt) ++history[token];

    Generated result;
    std::vector<std::int32_t> next(prompt.begin(), prompt.end());
    int position = 0;
    auto begin = std::chrono::steady_clock::now();
    for (;;) {
        const auto piece = std::min<std::size_t>(next.size(), prompt_piece);
        const bool whole = piece == next.size();
        pages.reserve(position + static_cast<int>(piece));
        BatchBuilder builder;
        builder.add(pages, std::span(next).first(piece), position,
                    whole ? WantLogits::Last : WantLogits::None);
        const SamplingRow row{&settings.sampling, static_cast<std::int32_t>(result.tokens.size()), &history};
        const auto drawn = step(builder.take(), whole ? std::span(&row, 1) : std::span<const SamplingRow>());
        position += static_cast<int>(piece);
        next.erase(next.begin(), next.begin() + static_cast<std::ptrdiff_t>(piece));
        if (!whole) continue;

        const DrawnToken chosen = drawn.front();
        if (result.tokens.empty()) {
            result.prompt_seconds = seconds_since(begin);
            begin = std::chrono::steady_clock::now();
        }
        result.generation_seconds = seconds_since(begin);
        result.ended =
            !settings.ignore_end && std::ranges::find(config.eos_ids, chosen.token) != config.eos_ids.end();
        if (result.ended) return result;
        result.tokens.push_back(chosen.token);
        result.log_probability.push_back(chosen.log_probability);
        ++history[chosen.token];
        const bool full = static_cast<int>(result.tokens.size()) >= settings.max_tokens || position >= room;
        if (!told(chosen.token) || full) return result;
        next = {chosen.token};
    }
}

}  // namespace voltpile::llm
