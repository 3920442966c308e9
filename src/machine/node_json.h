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

// Returns one line of JSON with what has changed since an earlier sample: {"time_s": ..., "changed":
// [{"power_w": 52.1, "energy_j": null}, {}]}, an object for each GPU; like to_json if more has changed than
// numbers of GPUs. Ten samples a second cost a tenth of what whole ones do.
std::string change_json(const NodeSample& sample, const NodeSample& before);

// Reads a line of either kind into `sample`, which holds the previous one. Throws MachineError.
void update_from_json(const std::string& text, NodeSample& sample);

}  // namespace voltpile
