#include "comm/outbox.h"

#include <chrono>
#include <thread>
#include <utility>

#include "comm/mpi_check.h"

namespace voltpile {

Outbox::~Outbox() {
    // MPI may still read them.
    if (!sent_.empty()) new std::deque<Sent>(std::move(sent_));
}

void Outbox::send(int to, int tag, std::shared_ptr<const std::string> bytes) {
    forget_taken();
    Sent& sent = sent_.emplace_back(Sent{MPI_REQUEST_NULL, std::move(bytes)});
    mpi_check(MPI_Isend(sent.bytes->data(), mpi_length(*sent.bytes), MPI_BYTE, to, tag, group_.mpi(),
                        &sent.request),
              "MPI_Isend");
}

void Outbox::forget_taken() {
    std::erase_if(sent_, [](Sent& each) {
        int taken = 0;
        mpi_check(MPI_Test(&each.request, &taken, MPI_STATUS_IGNORE), "MPI_Test");
        return taken != 0;
    });
}

void Outbox::drain() {
    for (;;) {
        forget_taken();
        if (sent_.empty()) return;
        std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
}

}  // namespace voltpile
