// Notices that processes of other ranks on this host have ended.
#pragma once

#include <map>
#include <vector>

#include "comm/mpi/communicator.h"

namespace voltpile {

class PeerProcesses {
  public:
    // Collective: every rank of the world calls. Before Linux 5.3, and between containers, no process is
    // watched.
    explicit PeerProcesses(const Communicator& world);
    ~PeerProcesses();
    PeerProcesses(const PeerProcesses&) = delete;
    PeerProcesses& operator=(const PeerProcesses&) = delete;

    // Whether the rank runs on this host.
    bool here(int rank) const { return here_[static_cast<std::size_t>(rank)]; }
    // Returns the ranks whose processes have ended so far, whether they have been waited for or not.
    std::vector<int> ended() const;

  private:
    std::vector<bool> here_;
    std::map<int, int> processes_;  // descriptor of each watched rank's process
};

}  // namespace voltpile
