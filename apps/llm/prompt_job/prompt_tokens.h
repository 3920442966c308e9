// Turns the prompts of a job into tokens for the model.
#pragma once

#include <cstdint>
#include <vector>

#include "llm/prompt_job/prompt_files.h"
#include "llm/session/language_model.h"

namespace voltpile::llm {

// Returns the tokens of a prompt, and sets whether its answer has channels. context: the most tokens of a
// sequence, including the prompt. Throws JobError for a prompt that is empty or not UTF-8, for messages that
// the model's chat template does not take, for a prompt that exceeds the context together with its
// max_tokens, and for tokens that the model lacks.
std::vector<std::int32_t> tokens_of(Prompt& prompt, const LanguageModel& model, int context);

// Adds the tokens of all prompts, or an error to those that have none, and drops their messages. Throws
// JobError or FileError if the model has no usable tokenizer.
void add_tokens(JobPrompts& all, const LanguageModel& model, int context);

}  // namespace voltpile::llm
