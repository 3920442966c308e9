// [[sweep]] as axes.
#pragma once

#include <functional>
#include <vector>

#include "job/document.h"
#include "job/job_spec.h"
#include "job/key_table.h"
#include "job/problems.h"

namespace voltpile {

// length_of: number of elements that the value of a key has in this job; 0: unknown. Every axis that is
// returned is sound; problems are reported.
std::vector<SweepAxis> read_sweep(const Node& document, const KeyTable& table,
                                  const std::function<std::size_t(const KeySpec&)>& length_of,
                                  Problems& problems);

}  // namespace voltpile
