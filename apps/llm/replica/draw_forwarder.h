// Sends what passes draw from the last stage of a pipeline to the first, pass by pass (Draws), on a thread of
// its own: the one that enqueues passes has to wait for the hidden states of the next one meanwhile.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "comm/channel/channel.h"
#include "llm/decoder/pass_runner.h"

namespace voltpile::llm {

class DrawForwarder {
  public:
    // device: the GPU of the passes, as CUDA counts it; -1: none. The channel outlives it.
    DrawForwarder(Channel& to_first, int device);
    ~DrawForwarder();  // drops what has not been sent
    DrawForwarder(const DrawForwarder&) = delete;
    DrawForwarder& operator=(const DrawForwarder&) = delete;

    // Rethrows what an earlier one met.
    void push(const DrawsUnderWay& draws);

  private:
    void run(const std::stop_token& stop, int device);
    void send(std::vector<std::byte> message);

    Channel& to_first_;
    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::deque<DrawsUnderWay> waiting_;
    std::exception_ptr failure_;
    struct Sent {
        std::vector<std::byte> message;
        Transfer transfer;
    };
    std::deque<Sent> sent_;  // the thread's
    std::jthread thread_;
};

}  // namespace voltpile::llm
