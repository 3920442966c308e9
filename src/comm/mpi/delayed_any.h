// Whether something has come up on any rank of a group, learned some calls later, so that ranks which are not
// quite in step need not wait for each other.
#pragma once

#include <mpi.h>

#include <memory>

#include "comm/mpi/communicator.h"

namespace voltpile {

class DelayedAny {
  public:
    // delay: calls that a rank may be ahead of another without waiting for it; the same on all, at least 1.
    DelayedAny(const Communicator& group, int delay);
    ~DelayedAny();
    DelayedAny(const DelayedAny&) = delete;
    DelayedAny& operator=(const DelayedAny&) = delete;

    // Collective: every rank calls, again and again. True on all ranks at the same call, less than 2 * delay
    // calls after the first at which a rank's `mine` was true. Waits asleep. Throws CommError.
    bool tell(bool mine);

    // Collective, after the last call. Without it what is under way stays so: for ranks that are ended.
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
