// The rules that find the cause of an attempt's death; docs/launch.md lists them.
#pragma once

#include <string>

#include "cluster/supervisor/evidence.h"

namespace voltpile {

// Returns one sentence that names the culprit, such as "node2 GPU 1 fell off the bus (Xid 79) 3.2 s after all
// four GPUs ramped up; no PCIe errors before; suspect power". Never empty. Pure.
std::string judge_attempt(const AttemptEvidence& evidence);

}  // namespace voltpile
