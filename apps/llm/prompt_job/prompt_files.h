// The prompts of a job, from its files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "job/job_spec.h"
#include "llm/prompt_job/prompt.h"
#include "results/result_layout.h"

namespace voltpile::llm {

struct JobPrompts {
    std::vector<Prompt> prompts;   // in the order of the files and of their lines
    std::vector<JobInput> inputs;  // the files
    // Tokens of those that can be used: for estimates.
    double mean_prompt_tokens = 0;

    // Of one process, for others of the same program. Messages stay behind: their tokens go.
    std::string to_bytes() const;
    static JobPrompts from_bytes(const std::string& bytes);
};

// What the job says of every prompt.
PromptSettings settings_of(const JobSpec& job);

// Reads all files. Blank lines are passed over; a prompt without a seed of its own has the job's plus its
// number. Throws JobError for files that cannot be read or hold no prompt. What is wrong with a line is in
// its Prompt::error.
JobPrompts read_prompts(const JobSpec& job);

// Throws JobError that names the lines that cannot be used, the first twenty of them, unless there are none.
void refuse_unusable(const std::vector<Prompt>& prompts);

}  // namespace voltpile::llm
