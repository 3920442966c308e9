#include "results/stored_telemetry.h"

#include "results/hdf5/handle.h"
#include "results/hdf5/telemetry_file.h"
#include "results/parts/part_folder.h"
#include "results/telemetry_log.h"

namespace voltpile {

std::vector<NodeTelemetry> stored_telemetry(const std::filesystem::path& result) {
    std::error_code error;
    // A server that runs, or was killed, has newer samples than the file of the run before it.
    if (result.string().ends_with(kTelemetryLogEnding))
        if (auto samples = read_telemetry(telemetry_samples(result)); !samples.empty()) return samples;
    if (!std::filesystem::exists(result, error)) return read_telemetry(parts_path(result));
    const Hdf5Guard guard;
    const Hdf5File file = open_hdf5(result.string());
    return read_telemetry_group(file.get());
}

}  // namespace voltpile
