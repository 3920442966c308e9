// The printed report of `voltpile hosts`.
#pragma once

#include <string>
#include <vector>

#include "cluster/hosts/findings.h"

namespace voltpile {

// Returns a table with a row for each host: its properties, and "ok" or the numbers of its findings.
std::string host_table(const HostSurvey& survey, const std::vector<Finding>& findings, bool color);

// Returns bandwidth and latency of all pairs (for many hosts: of the best and worst pair of each) and the
// speed of the slowest card. Empty if links are missing.
std::string link_text(const LinkSurvey& links, const HostSurvey& survey);

// Returns the numbered list "What to fix", then "Worth knowing". Empty without findings.
std::string finding_text(const std::vector<Finding>& findings, bool color);

}  // namespace voltpile
