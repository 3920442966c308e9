// Reports jobs and results: `voltpile status` shows the queue's view of a job beside its progress.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cluster/slurm/queue.h"
#include "cluster/status_progress.h"
#include "run/server_status.h"

namespace voltpile {

struct StatusStyle {
    bool colors = false;
};

// A job and the progress of its result, or its server, if the files are visible from here.
struct JobStatus {
    QueuedJob job;
    std::optional<ResultProgress> progress;
    std::optional<ServerStatus> server = {};
};

// Returns a line for each job below a headline, or a sentence if there are none.
std::string status_table(const std::vector<JobStatus>& jobs, const StatusStyle& style);

// Returns several lines about one job or the elements of an array. jobs: at least one.
std::string job_status_text(const std::vector<JobStatus>& jobs, const StatusStyle& style);

// Returns the same about a result. jobs: those in the queue that write it.
std::string result_text(const ResultProgress& progress, const std::vector<QueuedJob>& jobs);

// Returns the same about a server by its address file.
std::string server_text(const std::string& address_file, const ServerStatus& server);

// Returns how busy a server is: "2 running, 0 waiting, 310 tokens/s".
std::string server_load_text(const ServerStatus& server);

// Returns the report. subject: "" for all jobs of this user, "12" or "12_3" for a job of any user, else a
// result file, finished or not, or the address file of a server. Throws JobError, MachineError.
std::string status(const std::string& subject, const StatusStyle& style);

}  // namespace voltpile
