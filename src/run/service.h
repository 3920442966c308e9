// The interface of an app that serves until it is stopped. It has no points and no result.
#pragma once

#include <cstdint>
#include <filesystem>

#include "machine/node_watch.h"
#include "run/app.h"
#include "run/stop_signals.h"

namespace voltpile {

// What a service has done from its start to its end.
struct ServedWork {
    std::int64_t requests = 0;
    std::int64_t prompt_tokens = 0;
    std::int64_t tokens = 0;  // generated
};

class Service : public PlannedApp {
  public:
    // Seconds from a stop signal to the end, at most. Batch systems send the signal earlier than that.
    virtual double stop_seconds() const = 0;

    // The file that gets the service's address (run/server_status.h).
    virtual std::filesystem::path address_file() const = 0;

    // Serves by the last plan until a signal arrives. Returns, on rank 0, what it did. watch: samples this
    // node; nullptr: nobody does, or another rank. Collective: every rank calls, from its main thread. Throws
    // AgreedError; a rank that fails alone ends all ranks.
    virtual ServedWork serve(const MpiSession& mpi, StopSignals& signals, NodeWatch* watch) = 0;
};

}  // namespace voltpile
