// What `voltpile status` prints: the queue's view of a job beside the job's own progress.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cluster/slurm/queue.h"
#include "cluster/status_progress.h"

namespace voltpile {

struct StatusStyle {
    bool colors = false;
};

// A job and how far its result is, if that can be seen from here.
struct JobStatus {
    QueuedJob job;
    std::optional<ResultProgress> progress;
};

// A line for each job below a headline; says so if there is none.
std::string status_table(const std::vector<JobStatus>& jobs, const StatusStyle& style);

// Several lines on one job, or on the elements of an array. jobs: at least one.
std::string job_status_text(const std::vector<JobStatus>& jobs, const StatusStyle& style);

// The same on a result alone; jobs: those in the queue that write it.
std::string result_text(const ResultProgress& progress, const std::vector<QueuedJob>& jobs);

// subject: "" for all jobs of this user, "12" or "12_3" for one of any user's, else a result file, finished
// or not. Throws JobError and MachineError.
std::string status(const std::string& subject, const StatusStyle& style);

}  // namespace voltpile
