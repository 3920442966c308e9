// Samples of a node as JSON: the probe writes it, the program and its users read it.
#pragma once

#include <string>

#include "machine/node_sample.h"

namespace voltpile {

// Returns one line of JSON: {"time_s": ..., "host": {"cpu_percent": 3.1}, "driver_version": ...,
// "gpus": [{"bus_id": ..., "power_w": 51.2, "links": ...}]}. Unknown numbers are left out.
std::string to_json(const NodeSample& sample);

// Reads what to_json wrote. Throws MachineError for anything else.
NodeSample sample_from_json(const std::string& text);

}  // namespace voltpile
