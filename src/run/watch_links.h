// What the watchdogs of the ranks exchange: signs of life between rank 0 and every other rank, over a
// communicator of their own.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/phase.h"
#include "comm/mpi/communicator.h"

namespace voltpile {

struct WatchSign {
    bool ends = false;  // the sender ends in order; its last sign
    PhaseStates phases{};
    std::vector<int> gone;  // ranks of the sender's host whose processes have ended

    std::string to_bytes() const;
    static WatchSign from_bytes(const std::string& bytes);
};

class WatchLinks {
  public:
    // Collective: every rank of the world calls, from its main thread. All other calls come from one thread.
    explicit WatchLinks(const Communicator& world);
    // Leaves what nobody has received to MPI.
    ~WatchLinks();
    WatchLinks(const WatchLinks&) = delete;
    WatchLinks& operator=(const WatchLinks&) = delete;

    int rank() const { return link_.rank(); }
    int size() const { return link_.size(); }

    // Sends without waiting. A rank that has not taken the last sign gets no other one, unless the sender
    // ends. A peer that MPI knows to be gone loses the sign.
    void send(int to, const WatchSign& sign);
    std::optional<Message> poll() const;
    // Whether all signs are on their way. Call it to keep them moving.
    bool all_sent();

  private:
    struct Sent {
        MPI_Request request;
        std::unique_ptr<const std::string> bytes;  // MPI reads them until the request is done
        int to;
    };
    Communicator link_;
    std::deque<Sent> sent_;
};

}  // namespace voltpile
