// The telemetry of a result, finished or not, and of a server (results/telemetry_log.h).
#pragma once

#include <filesystem>
#include <vector>

#include "results/telemetry.h"

namespace voltpile {

// Returns an element for each host that the file has telemetry of; none if it has none. Throws FileError.
std::vector<NodeTelemetry> telemetry_in(const std::filesystem::path& file);

// Returns an element for each host of a finished result, and for each run and host of an unfinished one; none
// if there is no telemetry. Throws FileError.
std::vector<NodeTelemetry> stored_telemetry(const std::filesystem::path& result);

}  // namespace voltpile
