// What nodes say of themselves on their Prometheus ports (telemetry.port), for `voltpile top`.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "run/live_status.h"

namespace voltpile {

// Asks all nodes at the same time. addresses: "node1:9400". now_s: since 1970-01-01 00:00 UTC. A node that
// does not answer within two seconds is in the status with the reason beside its name; if none answers, the
// status is empty. Throws JobError for an address without a port.
LiveStatus fetch_live_status(const std::vector<std::string>& addresses, double now_s);

// Reads what runs that work on this result write (run/live_status.h), and asks the nodes whose files are not
// there, because they do not share the result's folder, at the addresses that the run recorded. If there is
// no such run, reads what the server of this name shows (run/live_server.h).
LiveStatus live_status_of(const std::filesystem::path& result, double now_s);

}  // namespace voltpile
