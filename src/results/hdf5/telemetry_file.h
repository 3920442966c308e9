// Writes and reads the telemetry of a result. The caller holds an Hdf5Guard. Private to src/results.
#pragma once

#include <vector>

#include "results/damage.h"
#include "results/hdf5/handle.h"
#include "results/telemetry.h"

namespace voltpile {

// Writes the group /telemetry with a group for each host; nothing if there are no samples.
void write_telemetry(hid_t file, const std::vector<NodeTelemetry>& nodes);

// Returns an element for each host; none if the file has no telemetry.
std::vector<NodeTelemetry> read_telemetry_group(hid_t file);

// Compares the values with their checksums, and checks that time does not go back and all extents agree.
// Files of versions before 0.2.0 have no checksums here.
std::vector<Damage> damaged_telemetry(hid_t file);

}  // namespace voltpile
