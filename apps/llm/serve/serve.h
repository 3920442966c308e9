// A server for the replicas of a run, from its first request to the last.
#pragma once

#include <limits>
#include <string>

#include "http/server.h"
#include "llm/serve/api.h"
#include "llm/session/language_model.h"
#include "llm/session/shared_queue.h"
#include "run/service.h"
#include "run/stop_signals.h"

namespace voltpile::llm {

// Seconds from the end of the grace period to the end of the server, at most, on a busy machine.
inline constexpr int kServeEndSeconds = 15;

struct ServeSettings {
    http::ServerSettings http;  // addresses and limits
    ApiSettings api;
    std::string address_file;  // gets the server's address once it listens (address_file.h); empty: none
    double time_limit_s = std::numeric_limits<double>::infinity();
};

// Serves until a stop signal arrives or the time limit is reached. Then refuses new requests and finishes
// those that it has, for at most api.grace_seconds; a second signal ends that time. For
// serve_replicas(). Returns what it did. Throws JobError and MachineError as http::Server does, FileError for
// the address file, and Error once no replica is left or if the launcher ends the job; clients have their
// errors then.
ServedWork serve(ServeSettings settings, const LanguageModel& model, SharedQueue& queue,
                 StopSignals& signals);

}  // namespace voltpile::llm
