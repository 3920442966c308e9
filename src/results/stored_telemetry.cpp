#include "results/stored_telemetry.h"

#include "results/hdf5/handle.h"
#include "results/hdf5/telemetry_file.h"
#include "results/parts/part_folder.h"

namespace voltpile {

std::vector<NodeTelemetry> stored_telemetry(const std::filesystem::path& result) {
    std::error_code error;
    if (!std::filesystem::exists(result, error)) return read_telemetry(parts_path(result));
    const Hdf5Guard guard;
    const Hdf5File file = open_hdf5(result.string());
    return read_telemetry_group(file.get());
}

}  // namespace voltpile
