// One text continued, on whatever ranks. For the command line; many at once are the engine's.
#pragma once

#include "llm/decoder/text_writer.h"

namespace voltpile::llm {

// Of a rank that has the whole model.
Step single_rank_step(Decoder& decoder, PassRunner& runner);  // both outlive it

// The settings of a decoder that has the whole model, for one text of up to `tokens`.
DecoderSettings single_text_settings(const ModelConfig& config, int tokens);

// Throws JobError for a prompt that is empty or leaves no room in `room` tokens.
void check_prompt(std::span<const std::int32_t> prompt, int room);

// told: each token as it comes; false ends the text. The same on every rank of a replica, if `told` answers
// the same. Throws as check_prompt(), and as `step`.
Generated generate(const Step& step, const ModelConfig& config, int room,
                   std::span<const std::int32_t> prompt, const GenerateSettings& settings,
                   const std::function<bool(std::int32_t)>& told);

}  // namespace voltpile::llm
