// Between the scheduler of ranges and the engine, on the rank that leads a replica.
#pragma once

#include <vector>

#include "llm/engine/engine.h"
#include "llm/prompt_job/prompt.h"
#include "llm/prompt_job/prompt_rows.h"
#include "work/work_scheduler.h"

namespace voltpile::llm {

struct FeedSettings {
    int sequences = 1;   // that the engine runs at once
    int pages = 1;       // of its cache
    double grace_s = 0;  // how long texts under way are still written when the job is to stop
    // Of all requests:
    bool ignore_end = false;
    int top_n = 0;
};

// Asks the engine for the prompts, which have their tokens, of the ranges from `work`, so many that it always
// has some waiting, until there are no more; rows go to `rows`. When the job is to stop, no more are asked
// for, and after a while what is there of ranges under way is submitted, and the rest left.
void feed_prompts(const std::vector<Prompt>& prompts, Engine& engine, PromptRows& rows, WorkScheduler& work,
                  const FeedSettings& settings);

}  // namespace voltpile::llm
