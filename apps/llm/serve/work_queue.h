// A thread that does small pieces of work in order: reading requests and making tokens of them, which would
// hold up the server's thread and must not hold up the engine's.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace voltpile::llm {

class WorkQueue {
  public:
    WorkQueue();
    ~WorkQueue();  // drops what has not begun and waits for what has

    void add(std::function<void()> work);  // which must not throw; thread-safe

  private:
    void run(const std::stop_token& stop);

    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::deque<std::function<void()>> waiting_;
    std::jthread thread_;
};

}  // namespace voltpile::llm
