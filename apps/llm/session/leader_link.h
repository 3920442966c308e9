// Connects the engine of a replica with the queue of rank 0 (shared_queue.h). On leaders other than rank 0.
#pragma once

#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "comm/mpi/communicator.h"
#include "llm/session/queue_message.h"

namespace voltpile::llm {

class LeaderLink {
  public:
    // link: rank 0 of the world, which is its rank 0, and the leaders. It belongs to this object's thread
    // from now on. engine: must outlive this object; its step() must not run after it is destroyed.
    LeaderLink(const Communicator& link, RequestQueue& engine);
    LeaderLink(const LeaderLink&) = delete;
    LeaderLink& operator=(const LeaderLink&) = delete;

    // Reports what is left once the engine has ended all requests, and that it has failed if so, and waits
    // until rank 0 has it. Throws CommError.
    void finish(std::optional<ReplicaFailure> failure = {});

  private:
    void run(const std::stop_token& stop);
    void obey(const QueueOrder& order);
    void submit(const Request& request);
    void add(QueueEvent event);
    void tell_of_failing_engine();

    Communicator link_;
    RequestQueue& engine_;
    std::mutex mutex_;  // of everything below
    std::condition_variable_any changed_;
    std::vector<QueueEvent> events_;
    bool failing_ = false;  // the engine has failed
    bool finishing_ = false;
    std::optional<ReplicaFailure> replica_failure_;
    std::exception_ptr failure_;  // of the link
    std::jthread thread_;
};

}  // namespace voltpile::llm
