// Draws the telemetry of a result over time: `voltpile plot --telemetry`.
#pragma once

#include <filesystem>
#include <vector>

#include "results/telemetry.h"

namespace voltpile {

// Draws charts of power, temperature, clock and utilization of all GPUs, and of the hosts' processors,
// memory and power, one below the other, as a PNG. Charts without values are omitted; gaps in time are gaps
// in the lines. Throws JobError if there is nothing to draw or if the picture would replace something else
// than a picture of this program, and FileError.
void plot_telemetry(const std::vector<NodeTelemetry>& nodes, const std::filesystem::path& result,
                    const std::filesystem::path& output);

}  // namespace voltpile
