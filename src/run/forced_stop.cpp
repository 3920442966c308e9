#include "run/forced_stop.h"

#include "run/agreement.h"

namespace voltpile {

Error stopped_at_once() {
    return {ExitCode::Stopped, "stopped at once by a second signal; run the same command again to go on"};
}

ForcedStop::ForcedStop(const MpiSession& mpi, StopSignals& signals)
    : thread_([&mpi, &signals](const std::stop_token& done) {
          constexpr int patience_ms = 20;  // bounds how long the destructor waits
          while (!done.stop_requested()) {
              if (signals.received() > 1) end_all_ranks(mpi, stopped_at_once());
              signals.wait(patience_ms);
          }
      }) {}

void ForcedStop::disarm() {
    thread_ = {};
}

}  // namespace voltpile
