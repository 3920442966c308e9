// What goes on beside a service while it runs: files for `voltpile top`, metrics on a port, telemetry, and
// what the GPUs drew in the end.
#pragma once

#include <filesystem>
#include <functional>

#include "plan/plan.h"
#include "run/node_monitor.h"
#include "run/power_guard.h"
#include "run/service.h"
#include "run/telemetry_recorder.h"

namespace voltpile {

// Collective: every rank calls. Calls `serve` with this rank's watch, if it has one, and prints on rank 0,
// once all ranks have returned from it, what the service did and what it took. Keeps the telemetry in
// request.file, or beside the address file (telemetry_log_file()); both empty: prints only. A telemetry file
// that cannot be written is a warning. monitor, guard: as of TelemetryRecorder. An exception of `serve`
// leaves the samples for the next run.
void watch_service(const Communicator& world, const Plan& plan, const TelemetryRequest& request,
                   const std::filesystem::path& address_file, NodeMonitor* monitor, PowerGuard* guard,
                   const std::function<ServedWork(NodeWatch*)>& serve);

}  // namespace voltpile
