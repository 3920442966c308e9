// The shape and the story of a result: what every part and the consolidated file are written from.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "job/job_spec.h"
#include "results/field.h"
#include "work/work_range.h"

namespace voltpile {

// Root attributes (openPMD's names): who made this, from what, on what.
struct Provenance {
    std::string software;          // "voltpile"
    std::string software_version;  // "0.1.0"
    std::string git_revision;
    std::string date;     // of consolidation, openPMD's way: "2024-05-06 07:08:09 +0200"
    std::string machine;  // hosts and processors, one line
    std::string author;   // user name
    std::string command_line;
    std::int64_t lives = 0;  // runs that took part, those of all shards; 0: the file does not say
    std::string batch_job;   // "slurm 123"; empty: none
    int restart_count = 0;   // of that batch job
};

// What a job computes from beside its job file: a file, say.
struct JobInput {
    std::string name;         // as messages have it
    std::string fingerprint;  // of its contents
};

struct ResultLayout {
    std::string app;
    std::string job_path;
    std::string job_text;                                    // the job file's text, as read
    std::vector<std::string> job_overrides;                  // --set ..., as given
    std::string fingerprint;                                 // of the job; parts of another job never mix in
    std::vector<JobInput> inputs;                            // covered by the fingerprint
    std::vector<std::pair<std::string, std::string>> notes;  // further root attributes, by name; only written
    std::vector<SweepAxis> axes;  // first axis fastest: HDF5 dimensions are these in reverse order
    std::vector<FieldSpec> fields;

    std::int64_t point_count() const;
    WorkRange whole() const { return {0, point_count()}; }
    std::int64_t bytes_per_point() const;
};

ResultLayout make_layout(const JobSpec& job, std::vector<FieldSpec> fields);

// Of an app whose points are not the job file's sweep: along `axes`, and another job where an input is
// another.
ResultLayout make_layout(const JobSpec& job, std::vector<FieldSpec> fields, std::vector<SweepAxis> axes,
                         std::vector<JobInput> inputs);

// "prompts.jsonl is not what it was": which inputs of two jobs differ; empty if none does.
std::string changed_inputs_text(const ResultLayout& now, const std::vector<JobInput>& before);

}  // namespace voltpile
