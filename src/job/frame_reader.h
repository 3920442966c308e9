// Reads what changes from frame to frame: the [[frames.change]] tables of a job.
#pragma once

#include <functional>
#include <vector>

#include "job/document.h"
#include "job/job_spec.h"
#include "job/key_table.h"
#include "job/problems.h"

namespace voltpile {

// Returns the valid changes and reports problems with the others: of each frame, not only of the first and
// the last. length_of: as in read_sweep(). job: its values and axes, without the one along the frames.
std::vector<FrameChange> read_frame_changes(const Node& document, const KeyTable& table,
                                            const std::function<std::size_t(const KeySpec&)>& length_of,
                                            const JobSpec& job, Problems& problems);

}  // namespace voltpile
