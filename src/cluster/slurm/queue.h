// Jobs in Slurm's queue, including ended ones that Slurm remembers.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace voltpile {

struct QueuedJob {
    std::string id;  // "12"; for an array element "12_3", for several waiting ones "12_[1-3]"
    std::string name, partition;
    std::string state;                                    // "RUNNING"
    std::string reason;                                   // why it waits or ended; may be ""
    std::string nodes;                                    // "node[1-3]"; while it waits, their number
    std::string time_used, time_limit, time_left, start;  // as Slurm prints them
    int restarts = 0;
    std::filesystem::path result;  // empty: not a voltpile job

    bool ended() const;  // for any reason: Slurm will not run it again
    bool waiting() const { return state == "PENDING"; }
    bool running() const { return state == "RUNNING"; }
};

// Parses the output of `squeue` with queue_format() and with restarts_format(), which has one more column.
std::vector<QueuedJob> parse_queue(std::string_view jobs, std::string_view restarts);
std::string queue_format();
std::string restarts_format();

// Returns this user's voltpile jobs. Throws MachineError if Slurm is not installed or does not respond.
std::vector<QueuedJob> read_my_queue();

// Returns one job or the elements of an array, of any user and program. Throws as above, and JobError if
// Slurm does not know the job (any more).
std::vector<QueuedJob> read_job(const std::string& id);

// Returns whether a command's argument is a job ("12"; "12_3", an element of an array) and not a file of that
// name.
bool is_job_id(const std::string& subject);

// This user's jobs that write `result`, ended ones too; none where Slurm is not installed or does not answer.
std::vector<QueuedJob> jobs_that_write(const std::filesystem::path& result);

}  // namespace voltpile
