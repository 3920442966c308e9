#include "results/stored_telemetry.h"

#include "results/hdf5/handle.h"
#include "results/hdf5/telemetry_file.h"
#include "results/parts/part_folder.h"
#include "results/telemetry_log.h"

namespace voltpile {

std::vector<NodeTelemetry> telemetry_in(const std::filesystem::path& file) {
    const Hdf5Guard guard;
    return read_telemetry_group(open_hdf5(file.string()).get());
}

std::vector<NodeTelemetry> stored_telemetry(const std::filesystem::path& result) {
    std::error_code error;
    // A server that runs, or was killed, has newer samples than the file of the run before it.
    if (is_telemetry_log(result))
        if (auto samples = read_telemetry(telemetry_samples(result)); !samples.empty()) return samples;
    if (!std::filesystem::exists(result, error)) return read_telemetry(parts_path(result));
    return telemetry_in(result);
}

}  // namespace voltpile
