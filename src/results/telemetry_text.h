// The text of `voltpile show` for telemetry.
#pragma once

#include <string>
#include <vector>

#include "results/telemetry.h"

namespace voltpile {

// Returns the energy of all GPUs, and for each node the time that its samples span and a table of its values:
// least, mean, greatest and last of each device. Values that are never known are left out.
std::string telemetry_text(const std::vector<NodeTelemetry>& nodes);

}  // namespace voltpile
