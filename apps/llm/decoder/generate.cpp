#include "llm/decoder/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "llm/decoder/batch_builder.h"
#include "llm/decoder/sampling_buffer.h"

namespace voltpile::llm {
namespace {

constexpr int prompt_piece = 256;  // rows of a pass

double seconds_since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

DecoderSettings single_text_settings(const ModelConfig& config, int tokens) {
    DecoderSettings settings;
    settings.layer_end = static_cast<int>(config.layers);
    settings.pages = (tokens + kv_page_tokens - 1) / kv_page_tokens;
    settings.limits = {std::min(prompt_piece, tokens), 1, settings.pages, 1};
    return settings;
}

Generated generate(Decoder& decoder, Ops& ops, const ModelConfig& config, int room,
                   std::span<const std::int32_t> prompt, const GenerateSettings& settings,
                   const std::function<bool(std::int32_t)>& told) {
    if (prompt.size() >= static_cast<std::size_t>(room))
        throw JobError(fmt::format("the prompt of {} tokens leaves no room for more in a context of {}",
                                   prompt.size(), room));
    PagePool pool(single_text_settings(config, room).pages);
    SequencePages pages(pool);
    BatchBuffer batches(ops, single_text_settings(config, room).limits);
    SamplingBuffer samplings(ops);
    const auto drawn = ops.allocate(2 * sizeof(std::int32_t));
    auto* const token_there = static_cast<std::int32_t*>(drawn->data());
    auto* const probability_there = reinterpret_cast<float*>(token_there + 1);
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
        const Batch batch = builder.take();
        const FloatRows logits = decoder.forward(batches.upload(batch));
        position += static_cast<int>(piece);
        next.erase(next.begin(), next.begin() + static_cast<std::ptrdiff_t>(piece));
        if (!whole) continue;

        const SamplingRow row{&settings.sampling, static_cast<std::int32_t>(result.tokens.size()), &history};
        ops.sample(logits, samplings.upload({&row, 1}), token_there, probability_there);
        struct {
            std::int32_t token;
            float log_probability;
        } chosen{};
        ops.download(&chosen, token_there, sizeof chosen);
        decoder.check(batch);
        if (chosen.token < 0) throw Error(ExitCode::Failed, "the logits of the model are not finite numbers");
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
