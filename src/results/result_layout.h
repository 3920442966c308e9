// Describes a result: its axes, fields and job. Parts and finished files are written from it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "job/job_spec.h"
#include "results/field.h"
#include "work/work_range.h"

namespace voltpile {

// Who made a result, from what and on what: root attributes with openPMD's names.
struct Provenance {
    std::string software;          // "voltpile"
    std::string software_version;  // "0.1.0"
    std::string git_revision;
    std::string date;     // when the result was completed, as openPMD writes it: "2024-05-06 07:08:09 +0200"
    std::string machine;  // hosts and processors, one line
    std::string author;   // user name
    std::string command_line;
    std::int64_t lives = 0;  // runs that took part, of all shards; 0: unknown
    std::string batch_job;   // "slurm 123"; empty: none
    int restart_count = 0;   // of that batch job
};

// An input of a job besides its job file, such as a file of prompts.
struct JobInput {
    std::string name;         // as messages name it
    std::string fingerprint;  // of its content
};

// A number for each frame of a movie: a coordinate along the frames.
struct FrameTrack {
    std::string
        name;  // "x_from" and "x_to" of the range of the axis x; "steps" of a number that is not swept
    std::string long_name, unit;
    std::vector<double> values;
};

struct ResultLayout {
    std::string app;
    std::string job_path;
    std::string job_text;                    // the text of the job file
    std::vector<std::string> job_overrides;  // --set ..., as given
    std::string fingerprint;                 // identifies the job; parts of other jobs are rejected
    std::vector<JobInput> inputs;            // covered by the fingerprint
    std::vector<std::pair<std::string, std::string>>
        notes;                    // further root attributes, by name; never read back
    std::vector<SweepAxis> axes;  // the first varies fastest, so HDF5's dimensions are these in reverse order
    std::vector<FieldSpec> fields;
    std::vector<FrameChange> frame_changes;  // what changes along the last axis; empty: it is not of frames
    std::optional<Refinement> refinement;    // parts hold positions (work/refined_order.h) then, not points

    // Returns the layout with the ranges that the axes have in one frame.
    ResultLayout in_frame(std::int64_t frame) const;
    std::vector<FrameTrack> frame_tracks() const;

    std::int64_t point_count() const;
    WorkRange whole() const { return {0, point_count()}; }
    std::int64_t bytes_per_point() const;
};

// Makes the layout of an app whose points are the job's sweep. With [refine] it adds the field "level".
ResultLayout make_layout(const JobSpec& job, std::vector<FieldSpec> fields);

// Throws JobError if the job's [refine] names no number among these fields.
void check_refinement(const JobSpec& job, const std::vector<FieldSpec>& fields);

// Makes the layout of an app whose points are not the job file's sweep but lie along `axes`. The inputs
// become part of the fingerprint.
ResultLayout make_layout(const JobSpec& job, std::vector<FieldSpec> fields, std::vector<SweepAxis> axes,
                         std::vector<JobInput> inputs);

// Returns which inputs differ between two jobs, e.g. "prompts.jsonl is not what it was (...)"; empty if none
// does.
std::string changed_inputs_text(const ResultLayout& now, const std::vector<JobInput>& before);

}  // namespace voltpile
