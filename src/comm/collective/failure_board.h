// Where a rank tells the others of its group, on the same host, that it calls their common work off. When it
// does, what it has sent so far may be garbage, and kernels of the others that wait for it may end with that:
// a rank whose kernels have ended looks here before it believes them.
#pragma once

#include <string>

#include "comm/mpi/communicator.h"

namespace voltpile {

class FailureBoard {
  public:
    // Collective: every rank calls. Ranks that cannot reach the memory of their host's first rank (other
    // containers) have a board of their own.
    explicit FailureBoard(const Communicator& group);
    ~FailureBoard();
    FailureBoard(const FailureBoard&) = delete;
    FailureBoard& operator=(const FailureBoard&) = delete;

    // The first to post stays; why: its first few hundred bytes are kept.
    void post(int rank, const std::string& why) noexcept;

    int rank() const noexcept;  // who posted; -1: nobody
    std::string why() const;

  private:
    struct Page;
    Page* page_ = nullptr;
};

}  // namespace voltpile
