#include "llm/decoder/generate.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace voltpile::llm {

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
    return TextWriter(step, config.eos_ids, room).write(0, prompt, settings, told);
}

}  // namespace voltpile::llm
