// Tells all ranks of a group that something has come up on one of them, some calls later, so that ranks which
// are not quite in step need not wait for each other. It is here, far from its user (llm/eval), because mpi.h
// stays inside comm.
#pragma once

#include <mpi.h>

#include <memory>

#include "comm/mpi/communicator.h"

namespace voltpile {

class DelayedAny {
  public:
    // delay: the calls that a rank may be ahead of another without waiting for it; the same on all ranks, at
    // least 1.
    DelayedAny(const Communicator& group, int delay);
    ~DelayedAny();
    DelayedAny(const DelayedAny&) = delete;
    DelayedAny& operator=(const DelayedAny&) = delete;

    // Collective: every rank calls, again and again. Returns true on all ranks at the same call, less than 2
    // * delay calls after the first one with a true `mine` on any rank. Waits asleep. Throws CommError.
    bool tell(bool mine);

    // Collective: every rank calls, after the last tell(). Ranks that are about to be ended leave it out.
    void finish();

  private:
    struct Question {
        int mine = 0;
        int any = 0;
        MPI_Request request = MPI_REQUEST_NULL;
    };

    Communicator group_;
    int delay_;
    int calls_ = 0;
    bool mine_ = false;
    std::unique_ptr<Question> asked_ = std::make_unique<Question>();
};

}  // namespace voltpile
