// Sends the draws of each pass from the last pipeline stage to the first, on a thread of its own, because the
// thread that enqueues passes waits for the hidden states of the next pass meanwhile.
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
    // device: the CUDA index of the GPU that runs the passes; -1 for none. The channel must outlive this
    // object.
    DrawForwarder(Channel& to_first, int device);
    ~DrawForwarder();  // drops draws that are not sent yet
    DrawForwarder(const DrawForwarder&) = delete;
    DrawForwarder& operator=(const DrawForwarder&) = delete;

    // Sends these draws once they are there. Rethrows the error of an earlier send.
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
    std::deque<Sent> sent_;  // used by the thread only
    std::jthread thread_;
};

}  // namespace voltpile::llm
