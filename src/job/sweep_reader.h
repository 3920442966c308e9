// Reads the axes of a job: its [[sweep]] tables.
#pragma once

#include <functional>
#include <vector>

#include "job/document.h"
#include "job/job_spec.h"
#include "job/key_table.h"
#include "job/problems.h"

namespace voltpile {

// Returns the valid axes and reports problems with the others. length_of returns the number of elements of a
// key's value in this job; 0: unknown.
std::vector<SweepAxis> read_sweep(const Node& document, const KeyTable& table,
                                  const std::function<std::size_t(const KeySpec&)>& length_of,
                                  Problems& problems);

}  // namespace voltpile
