// The page of `voltpile top`: the nodes and ranks of a running job.
#pragma once

#include <string>
#include <vector>

#include "run/live_status.h"

namespace voltpile {

// Returns the lines of the page, each at most `columns` wide; tables lose their last columns where space is
// short. now_s: since 1970-01-01 00:00 UTC.
std::vector<std::string> top_page(const LiveStatus& status, double now_s, int columns);

}  // namespace voltpile
