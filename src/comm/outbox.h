// Messages that are sent without waiting for the others to take them.
#pragma once

#include <deque>
#include <memory>
#include <string>

#include "comm/communicator.h"

namespace voltpile {

class Outbox {
  public:
    explicit Outbox(const Communicator& group) : group_(group) {}
    // Does not wait: what nobody has taken by then is never taken back.
    ~Outbox();
    Outbox(const Outbox&) = delete;
    Outbox& operator=(const Outbox&) = delete;

    // As Communicator::send, but returns at once. From one thread at a time. Throws CommError.
    void send(int to, int tag, std::shared_ptr<const std::string> bytes);

    // Until all have been taken; asleep.
    void drain();

  private:
    struct Sent {
        MPI_Request request;
        std::shared_ptr<const std::string> bytes;
    };
    void forget_taken();

    Communicator group_;
    std::deque<Sent> sent_;
};

}  // namespace voltpile
