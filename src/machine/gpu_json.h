// GPUs as JSON: the probe writes it, the program and its users read it.
#pragma once

#include <string>

#include "machine/gpu_snapshot.h"

namespace voltpile {

// Returns one line of JSON: {"driver_version": ..., "gpus": [{"bus_id": ..., "power_w": 51.2, "links":
// ...}]}. Numbers that the driver does not say are left out.
std::string to_json(const NodeGpus& node);

// Reads what to_json wrote. Throws MachineError for anything else.
NodeGpus gpus_from_json(const std::string& text);

}  // namespace voltpile
