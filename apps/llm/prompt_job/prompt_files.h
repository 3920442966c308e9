// The prompts of a job, from its files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "job/job_spec.h"
#include "llm/prompt_job/prompt.h"
#include "results/result_layout.h"

namespace voltpile::llm {

// How much is read. A file or a line beyond these is a mistake, such as /dev/zero.
struct PromptLimits {
    std::uint64_t file_bytes = std::uint64_t{16} << 30;  // of a regular file
    std::uint64_t pipe_bytes = std::uint64_t{1} << 30;   // of a pipe or socket, standard input included
    std::size_t line_bytes = std::size_t{64} << 20;
};

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
RequestSettings settings_of(const JobSpec& job);

// Reads all files: regular files and pipes. Skips blank lines. A prompt without a seed of its own gets the
// job's seed plus the prompt's index. Throws JobError for files that are unreadable, of another kind, too
// large or without a prompt. A line that is invalid or too long becomes a prompt with an error.
JobPrompts read_prompts(const JobSpec& job, const PromptLimits& limits = {});

// Throws JobError that names the first twenty prompts with an error, unless there are none.
void refuse_unusable(const std::vector<Prompt>& prompts);

// How many prompts have an error.
std::int64_t unusable_count(const std::vector<Prompt>& prompts);

// A warning that counts the prompts with an error and names the first; empty if there are none.
std::string skipped_text(const std::vector<Prompt>& prompts);

}  // namespace voltpile::llm
