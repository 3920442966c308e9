// Ends a job at once when a second stop signal arrives while the main thread is busy, outside the job loop.
#pragma once

#include <thread>

#include "base/error.h"
#include "comm/mpi/session.h"
#include "run/stop_signals.h"

namespace voltpile {

// The error of a job that a second signal ends: exit code Stopped.
Error stopped_at_once();

// While one is armed, a thread of its own watches `signals`: the second one prints an error and ends all
// ranks with exit code Stopped. Both references must outlive it.
class ForcedStop {
  public:
    ForcedStop(const MpiSession& mpi, StopSignals& signals);

    // Signals change nothing from now on.
    void disarm();

  private:
    std::jthread thread_;
};

}  // namespace voltpile
