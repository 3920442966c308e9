// The batch script of a job: #SBATCH lines made from its plan, then the body of slurm/run.sbatch.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/slurm/submit_plan.h"
#include "cluster/slurm/submit_request.h"

namespace voltpile {

// Absolute paths, so that the script can be submitted from any folder.
struct SubmitPaths {
    std::filesystem::path program;
    std::filesystem::path folder;  // where the job runs; relative paths in the arguments start here
    std::filesystem::path result;  // of a service: its address file
    bool service = false;

    // Returns the pattern of the log's path, beside the result. Slurm replaces %j, or %A and %a in arrays,
    // with the job's numbers. Throws JobError if Slurm cannot write a log of that name.
    std::string log_pattern(bool array) const;
    std::string log_of(const std::string& job_id, bool array) const;
};

// Returns the whole script.
std::string batch_script(const SubmitPlan& plan, const SubmitRequest& request, const SubmitPaths& paths);

// Convert between the path of a result and the job's comment in the queue. result_of_comment() returns "" for
// other comments.
std::string job_comment(const std::filesystem::path& result);
std::string result_of_comment(std::string_view comment);

// Returns slurm/run.sbatch as of the build of this program.
std::string_view run_sbatch_text();

// Quotes the value of an option in an #SBATCH line.
std::string sbatch_word(const std::string& text);

}  // namespace voltpile
