// Who is, or was, writing a result: what stands in the lock file and in the journal of lives.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace voltpile {

// A process that runs a job, and under which batch system.
struct RunIdentity {
    std::string host;
    int pid = 0;
    std::string batch_job;  // "slurm 123", "slurm 120_4" for an array's task; empty: started by hand
    int restart_count = 0;  // how often the batch system has started this job again

    // The same batch job, started again since: the batch system has declared `earlier` dead.
    bool supersedes(const RunIdentity& earlier) const;

    std::string text() const;  // "pid 7 on node1, job 123"
};

// This process, as the kernel and Slurm's environment tell.
RunIdentity this_run();

// One run of a job, from its start to its end however it ended.
struct LifeRecord {
    RunIdentity run;
    std::int64_t number = 0;  // the first life of a result, or of one shard of it, is 1
    std::string folder;       // the name of its folder of temporary files
    std::int64_t points = 0;  // committed at its start
    std::string date;         // of its start, UTC: "2024-05-06T07:08:09Z"

    std::string text() const;  // "life 4, job 123 on node2"

    std::string to_json() const;  // one line, without its end
    static std::optional<LifeRecord> from_json(const std::string& line);
};

// "job 123" for "slurm 123".
std::string job_text(const std::string& batch_job);

}  // namespace voltpile
