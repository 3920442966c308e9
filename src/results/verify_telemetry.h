// Verifies the telemetry file of a server (results/telemetry_log.h): `voltpile verify`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "results/damage.h"

namespace voltpile {

struct TelemetryVerification {
    std::int64_t samples = 0;    // of all hosts together; 0 if anything is damaged
    std::vector<Damage> damage;  // one element for each problem

    bool ok() const { return damage.empty(); }
};

// Reads every value and compares it with its checksum, checks attributes and texts, that time does not go
// back and that all extents agree. Changes nothing. Throws JobError if there is no such file or no telemetry
// in it, FileError.
TelemetryVerification verify_telemetry(const std::filesystem::path& file);

}  // namespace voltpile
