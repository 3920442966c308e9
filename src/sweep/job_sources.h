// Sets the sources of a problem's numbers from the axes and frames of its job.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "job/job_spec.h"
#include "sweep/parameter_source.h"

namespace voltpile {

// Returns the source of one number of a key, whose element is row-major.
using SourceOf = std::function<ParameterSource&(const std::string& key, int element)>;

// Sets the sources of the swept numbers, with the ranges of frame 0.
void set_axes(const JobSpec& job, const SourceOf& source_of);

// Lets sources change from frame to frame. Returns the numbers that they then point to.
std::vector<double> set_frames(const JobSpec& job, const SourceOf& source_of);

// Returns the number of frames of a job, 1 without any.
std::int64_t frame_count(const JobSpec& job);

// Fixes the sources in one frame: none of them points to numbers then, and axes have the frame's range.
void keep_frame(std::span<ParameterSource> sources, std::int64_t frame);

// What a warning about single frames says: `text` of the first frame that has one, and which frames do.
// warnings_of(k): those of frame k as if it were a job of its own, each kind at its own place; "": none.
std::vector<std::string> warnings_of_frames(
    std::int64_t frames, const std::function<std::vector<std::string>(std::int64_t)>& warnings_of);

// Returns the first frame of those up to the last one that `lost` is true of, by bisection: it asks for about
// log2(frames) of them. Returns `frames` if it is not true of the last frame.
std::int64_t first_lost_frame(std::int64_t frames, const std::function<bool(std::int64_t)>& lost);

}  // namespace voltpile
