// The batch script of a job: #SBATCH lines from its plan, above the body of slurm/run.sbatch.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/slurm/submit_plan.h"
#include "cluster/slurm/submit_request.h"

namespace voltpile {

// Absolute, so that the script can be submitted from anywhere.
struct SubmitPaths {
    std::filesystem::path program;
    std::filesystem::path folder;  // where the job runs: relative paths in the arguments start here
    std::filesystem::path result;

    // Beside the result; %j, or %A and %a of an array, become the job's numbers. Throws JobError if Slurm
    // cannot have a log of that name.
    std::string log_pattern(bool array) const;
    std::string log_of(const std::string& job_id, bool array) const;
};

std::string batch_script(const SubmitPlan& plan, const SubmitRequest& request, const SubmitPaths& paths);

// What the queue shows of a job as its comment, and back: where the result is; "" if the comment is not ours.
std::string job_comment(const std::filesystem::path& result);
std::string result_of_comment(std::string_view comment);

// slurm/run.sbatch as it was when this program was built.
std::string_view run_sbatch_text();

// Quotes the value of an option in an #SBATCH line.
std::string sbatch_word(const std::string& text);

}  // namespace voltpile
