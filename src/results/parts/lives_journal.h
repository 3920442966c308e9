// Who writes a result, or wrote it: the records in its lock files, and the journal of lives in its part
// folder. The journal has one line of JSON for each run that took part; one file for runs of the whole sweep,
// one for those of each shard. It stays when a job resumes and goes away with the folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "work/shard.h"

namespace voltpile {

struct Life;

// A process that runs a job, and its batch system.
struct RunIdentity {
    std::string host;
    int pid = 0;
    std::string batch_job;  // "slurm 123", "slurm 120_4" for an array task; empty: started by hand
    int restart_count = 0;  // how often the batch system has restarted this job

    // Whether this is a later restart of the same batch job: then the batch system has declared `earlier`
    // dead.
    bool supersedes(const RunIdentity& earlier) const;

    std::string text() const;  // "pid 7 on node1, job 123"
};

// Returns this process, from the kernel and from Slurm's environment variables.
RunIdentity this_run();

// One run of a job, from its start to its end, however it ended.
struct LifeRecord {
    RunIdentity run;
    std::int64_t number = 0;  // counts from 1 for each result, or for each shard of it
    std::string folder;       // the name of the life's folder
    std::int64_t points = 0;  // committed when it began
    std::string date;         // when it began, UTC: "2024-05-06T07:08:09Z"

    std::string text() const;  // "life 4, job 123 on node2"

    std::string to_json() const;  // one line, without its end
    static std::optional<LifeRecord> from_json(const std::string& line);
};

// Returns "job 123" for "slurm 123".
std::string job_text(const std::string& batch_job);

std::string journal_name(const Shard& shard);  // "lives.jsonl", "lives-2of4.jsonl"
bool is_journal_name(const std::string& file_name);

// Returns the records of one journal, in the order in which the lives began. Skips lines that it cannot read.
std::vector<LifeRecord> read_journal(const std::filesystem::path& parts, const Shard& shard);

// Returns the records of all journals of the folder, by date.
std::vector<LifeRecord> read_lives(const std::filesystem::path& parts);

// Returns the records in the lock files of the folder. It does not ask whether these runs are alive.
std::vector<LifeRecord> read_holders(const std::filesystem::path& parts);

// Adds a line to the journal. Throws FileError.
void append_life(const Life& life, const Shard& shard, const LifeRecord& record);

// Throws Error (Failed) if the last three lives in `journal` belong to this batch job and each began with as
// many committed points as there are now. A batch system restarts a failing job again and again; this ends
// it.
void check_progress(const std::filesystem::path& result, const std::vector<LifeRecord>& journal,
                    const RunIdentity& run, std::int64_t points);

}  // namespace voltpile
