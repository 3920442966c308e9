// Jobs in Slurm's queue, ended ones too as long as Slurm remembers them.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace voltpile {

struct QueuedJob {
    std::string id;  // "12"; of an array's element "12_3", of several that wait "12_[1-3]"
    std::string name, partition;
    std::string state;                                    // "RUNNING"
    std::string reason;                                   // why it waits or why it ended; "" if there is none
    std::string nodes;                                    // "node[1-3]", or how many while it waits
    std::string time_used, time_limit, time_left, start;  // as Slurm prints them
    int restarts = 0;
    std::filesystem::path result;  // empty: no job of voltpile's

    bool ended() const;  // in whatever way: Slurm will not run it again
    bool waiting() const { return state == "PENDING"; }
    bool running() const { return state == "RUNNING"; }
};

// From `squeue` with queue_format, and with restarts_format for the column that the other cannot show.
std::vector<QueuedJob> parse_queue(std::string_view jobs, std::string_view restarts);
std::string queue_format();
std::string restarts_format();

// This user's jobs that are voltpile's. Throws MachineError if Slurm is not installed or does not answer.
std::vector<QueuedJob> read_my_queue();

// One job, or the elements of an array, whoever's and whatever they are. Throws as above, and JobError if
// Slurm knows no such job (any more).
std::vector<QueuedJob> read_job(const std::string& id);

// Returns whether a command's argument is a job ("12"; "12_3", an element of an array) and not a file of that
// name.
bool is_job_id(const std::string& subject);

// This user's jobs that write `result`, ended ones too; none where Slurm is not installed or does not answer.
std::vector<QueuedJob> jobs_that_write(const std::filesystem::path& result);

}  // namespace voltpile
