// The report of `voltpile hosts`, for people and for programs.
#pragma once

#include <string>
#include <vector>

#include "cluster/hosts/findings.h"

namespace voltpile {

// A row for each host: what it is, and either ok or the numbers of the findings to fix.
std::string host_table(const HostSurvey& survey, const std::vector<Finding>& findings, bool color);

// Bandwidth and latency between all pairs (of many hosts: the best and worst of each), and what the slowest
// card could do.
std::string link_text(const LinkSurvey& links, const HostSurvey& survey);

// "what to fix", numbered, then what is worth knowing. Empty if there is neither.
std::string finding_text(const std::vector<Finding>& findings, bool color);

}  // namespace voltpile
