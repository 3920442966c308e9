#include "llm/serve/work_queue.h"

#include <utility>

namespace voltpile::llm {

WorkQueue::WorkQueue() : thread_([this](const std::stop_token& stop) { run(stop); }) {}

WorkQueue::~WorkQueue() {
    thread_.request_stop();
    thread_.join();
}

void WorkQueue::add(std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(work));
    changed_.notify_one();
}

void WorkQueue::run(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, stop, [&] { return !waiting_.empty(); })) {
        const auto work = std::move(waiting_.front());
        waiting_.pop_front();
        lock.unlock();
        work();
        lock.lock();
    }
}

}  // namespace voltpile::llm
