// Sends messages without waiting for their receivers. A thread keeps them moving, because MPI moves long
// messages only during calls to it.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "comm/mpi/communicator.h"

namespace voltpile {

class Outbox {
  public:
    explicit Outbox(const Communicator& group);
    // Does not wait: messages that have not been received by then stay with MPI for good.
    ~Outbox();
    Outbox(const Outbox&) = delete;
    Outbox& operator=(const Outbox&) = delete;

    // As Communicator::send, but returns at once. From one thread at a time. Throws CommError, also for
    // earlier messages that failed.
    void send(int to, int tag, std::shared_ptr<const std::string> bytes);

    // Waits asleep until all messages have been received. Throws CommError.
    void drain();

  private:
    struct Sent {
        MPI_Request request;
        std::shared_ptr<const std::string> bytes;
    };
    void run(const std::stop_token& stop);
    void forget_taken();

    Communicator group_;
    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::deque<Sent> sent_;
    std::exception_ptr failure_;
    std::jthread thread_;
};

}  // namespace voltpile
