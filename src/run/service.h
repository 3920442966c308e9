// The interface of an app that serves until it is stopped. It has no points and no result.
#pragma once

#include <filesystem>

#include "machine/node_watch.h"
#include "run/app.h"
#include "run/stop_signals.h"

namespace voltpile {

class Service : public PlannedApp {
  public:
    // Seconds from a stop signal to the end, at most. Batch systems send the signal earlier than that.
    virtual double stop_seconds() const = 0;

    // The file that gets the service's address (run/server_status.h).
    virtual std::filesystem::path address_file() const = 0;

    // Serves by the last plan until a signal arrives. watch: samples this node; nullptr: nobody does, or
    // another rank. Collective: every rank calls, from its main thread. Throws AgreedError; a rank that fails
    // alone ends all ranks.
    virtual void serve(const MpiSession& mpi, StopSignals& signals, NodeWatch* watch) = 0;
};

}  // namespace voltpile
