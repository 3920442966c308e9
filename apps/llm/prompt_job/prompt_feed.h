// Feeds ranges of prompts from the work scheduler to the engine, on the leader of a replica.
#pragma once

#include <vector>

#include "llm/engine/engine.h"
#include "llm/prompt_job/prompt.h"
#include "llm/prompt_job/prompt_rows.h"
#include "work/work_scheduler.h"

namespace voltpile::llm {

struct FeedSettings {
    int sequences = 1;   // the most that the engine runs at once
    int pages = 1;       // of its KV cache
    double grace_s = 0;  // how long running sequences go on when the job stops
};

// Submits the prompts of the ranges from `work` to the engine until there are no more ranges, and passes
// outcomes to `rows`. Keeps some requests waiting, so that a sequence that ends is replaced at once. prompts:
// with their tokens. When the job stops, submits no more prompts; after grace_s, it submits the finished rows
// of unfinished ranges and drops the others.
void feed_prompts(const std::vector<Prompt>& prompts, Engine& engine, PromptRows& rows, WorkScheduler& work,
                  const FeedSettings& settings);

}  // namespace voltpile::llm
