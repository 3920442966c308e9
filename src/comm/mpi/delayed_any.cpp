#include "comm/mpi/delayed_any.h"

#include <chrono>
#include <thread>

namespace voltpile {

DelayedAny::DelayedAny(const Communicator& group, int delay) : group_(group), delay_(delay) {}

DelayedAny::~DelayedAny() {
    if (asked_->request != MPI_REQUEST_NULL) static_cast<void>(asked_.release());  // MPI may still use it
}

bool DelayedAny::tell(bool mine) {
    mine_ = mine_ || mine;
    if (++calls_ % delay_ != 0) return false;
    finish();
    if (asked_->any != 0) return true;
    asked_->mine = mine_ ? 1 : 0;
    mpi_check(
        MPI_Iallreduce(&asked_->mine, &asked_->any, 1, MPI_INT, MPI_MAX, group_.mpi(), &asked_->request),
        "MPI_Iallreduce");
    return false;
}

void DelayedAny::finish() {
    constexpr std::chrono::microseconds tick{100};  // between looks
    for (;;) {
        int done = 0;
        mpi_check(MPI_Test(&asked_->request, &done, MPI_STATUS_IGNORE), "MPI_Test");
        if (done) return;
        std::this_thread::sleep_for(tick);
    }
}

}  // namespace voltpile
