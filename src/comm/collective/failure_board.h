// Where a rank tells the other ranks of its group on the same host that it cancels their common work. What it
// has sent so far may then be garbage, and kernels of the others that wait for it may end with that. So a
// rank whose kernels have ended reads the board before it trusts their results.
#pragma once

#include <string>

#include "comm/mpi/communicator.h"
#include "comm/mpi/host_memory.h"

namespace voltpile {

class FailureBoard {
  public:
    // Collective: every rank calls. Ranks that cannot reach the memory of their host's first rank (other
    // containers) get a board of their own.
    explicit FailureBoard(const Communicator& group);
    FailureBoard(const FailureBoard&) = delete;
    FailureBoard& operator=(const FailureBoard&) = delete;

    // Only the first post counts. why: its first few hundred bytes are kept.
    void post(int rank, const std::string& why) noexcept;

    int rank() const noexcept;  // the poster; -1: nobody
    std::string why() const;

  private:
    struct Page;
    HostMemory memory_;
    Page* page_;
};

}  // namespace voltpile
