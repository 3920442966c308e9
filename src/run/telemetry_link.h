// Brings samples of hosts that do not see rank 0's part folder to rank 0 while the job runs, so that the
// telemetry of a host that is lost is kept, but for its last seconds.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "comm/mpi/communicator.h"
#include "comm/mpi/outbox.h"
#include "results/telemetry.h"

namespace voltpile {

class TelemetryLink {
  public:
    using Take = std::function<void(int rank, const NodeTelemetry& piece)>;

    // Collective: every rank calls, and again for the destructor. All other calls come from one thread at a
    // time. They throw CommError.
    explicit TelemetryLink(const Communicator& world);

    // Not on rank 0: sends without waiting, in messages of at most 200 samples.
    void send(const NodeTelemetry& piece);

    // On rank 0: takes what has arrived.
    void receive(const Take& take);

    // Collective: every rank calls, once, after its last send(). Returns when rank 0 has taken everything.
    void finish(const Take& take);

  private:
    void take_one(const Message& message, const Take& take);

    Communicator link_;
    std::optional<Outbox> outbox_;  // not on rank 0
    std::int64_t sent_ = 0;
    std::vector<std::int64_t> received_;  // on rank 0, by rank
};

}  // namespace voltpile
