// Describes damage to a result: which dataset or part is in doubt, which points it concerns, and why. What
// verifies a result collects these, and what repairs it reads them.
#pragma once

#include <fmt/format.h>

#include <string>

#include "work/work_range.h"

namespace voltpile {

struct Damage {
    std::string where;    // the dataset ("steps", "plan/busy_time"), the group ("/") or the part's file name
    WorkRange points;     // whose values are in doubt; empty: none, or it is not known which
    std::string problem;  // one sentence, which names all of this
};

// "points 65,536 to 131,071", counted from 0 along the flattened sweep.
inline std::string points_span_text(WorkRange points) {
    return points.size() == 1 ? fmt::format("point {}", points.begin)
                              : fmt::format("points {} to {}", points.begin, points.end - 1);
}

// Returns the problem with the name of the result in front, unless it names it already.
inline std::string naming_result(const std::string& result, const std::string& problem) {
    return problem.find(result) == std::string::npos ? result + ": " + problem : problem;
}

}  // namespace voltpile
