#include "results/verify_telemetry.h"

#include <algorithm>
#include <iterator>

#include "base/error.h"
#include "results/hdf5/child_check.h"
#include "results/hdf5/content_checksum.h"
#include "results/hdf5/telemetry_file.h"
#include "results/stored_telemetry.h"
#include "results/telemetry_log.h"

namespace voltpile {
namespace {

[[noreturn]] void throw_missing(const std::filesystem::path& file) {
    std::error_code error;
    const std::filesystem::path samples = telemetry_samples(file);
    if (std::filesystem::is_directory(samples, error))
        throw JobError(file.string() +
                       " does not exist yet: a server writes it when it stops, and its samples are in " +
                       samples.string());
    throw JobError("there is no telemetry " + file.string());
}

}  // namespace

TelemetryVerification verify_telemetry(const std::filesystem::path& file) {
    std::error_code error;
    if (!std::filesystem::exists(file, error)) throw_missing(file);
    TelemetryVerification found;
    found.damage = check_in_child({"/", {}, ""}, file, [&](hid_t) {
        const Hdf5File opened = open_hdf5(file.string());
        std::vector<Damage> damage = damaged_telemetry(opened.get());
        std::ranges::move(damaged_content(opened.get()), std::back_inserter(damage));
        return damage;
    });
    if (!found.ok()) return found;
    const std::vector<NodeTelemetry> nodes = telemetry_in(file);
    if (nodes.empty()) throw JobError(file.string() + " holds no telemetry");
    for (const NodeTelemetry& node : nodes) found.samples += static_cast<std::int64_t>(node.times_s.size());
    return found;
}

}  // namespace voltpile
