// Notices that ranks of a server are gone: their process has died or their node is down, which neither MPI
// nor the launcher may notice for minutes. Rank 0 and every other rank send each other a sign of life each
// second.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "comm/mpi/communicator.h"

namespace voltpile::llm {

struct LifeWatchSettings {
    // Rank 0 decides what a lost rank means, so it notices first.
    std::chrono::seconds patience_of_root{20}, patience_of_others{30};
};

class LifeWatch {
  public:
    // why: "has been silent for 20 s".
    using Lost = std::function<void(int rank, const std::string& why)>;

    // link: all ranks to watch. It belongs to this object's thread from now on. lost: called on that thread,
    // once for each rank that has been silent for too long, with its number in `link`: on rank 0 any other
    // rank, on the others rank 0.
    LifeWatch(const Communicator& link, Lost lost, LifeWatchSettings settings = {});
    // Tells the others that this rank ends in order, and waits until they do, too.
    ~LifeWatch() = default;
    LifeWatch(const LifeWatch&) = delete;
    LifeWatch& operator=(const LifeWatch&) = delete;

  private:
    void run(const std::stop_token& stop);

    Communicator link_;
    Lost lost_;
    std::chrono::seconds patience_;
    std::jthread thread_;
};

}  // namespace voltpile::llm
