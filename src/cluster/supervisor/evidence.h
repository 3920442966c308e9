// What is known about an attempt that has died, as plain data.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "machine/kernel_events.h"
#include "machine/node_check.h"
#include "machine/node_sample.h"

namespace voltpile {

struct NodeEvidence {
    std::string name;
    std::string lost;                   // why the launch lost the node; empty: it answers
    std::deque<NodeSample> samples;     // of the last minutes, oldest first
    std::vector<KernelEvent> kernel;    // since the attempt began
    std::vector<NodeFinding> findings;  // of the check after the attempt; none of a lost node
};

struct AttemptEvidence {
    double begin_s = 0, end_s = 0;  // since 1970-01-01 00:00 UTC
    int exit_code = 0;              // of the launcher
    std::string last_error;         // the last line that a rank or the launcher printed about an error
    std::vector<NodeEvidence> nodes;
};

// Returns one JSON object with all of it, for evidence.json.
std::string evidence_json(const AttemptEvidence& evidence, const std::string& verdict);

}  // namespace voltpile
