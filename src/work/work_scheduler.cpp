#include "work/work_scheduler.h"

#include <utility>

namespace voltpile {

std::optional<WorkRange> WorkScheduler::next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !queue_.empty() || closed_; });
    return pop();
}

std::optional<WorkRange> WorkScheduler::try_next() {
    std::lock_guard lock(mutex_);
    return pop();
}

std::optional<WorkRange> WorkScheduler::pop() {
    if (queue_.empty()) return std::nullopt;
    WorkRange range = queue_.front();
    queue_.pop_front();
    return range;
}

bool WorkScheduler::exhausted() const {
    std::lock_guard lock(mutex_);
    return closed_ && queue_.empty();
}

void WorkScheduler::add_units(double units) {
    std::lock_guard lock(mutex_);
    progress_.units += units;
}

void WorkScheduler::add_busy(double seconds) {
    std::lock_guard lock(mutex_);
    progress_.busy_s += seconds;
}

void WorkScheduler::set_gauges(std::vector<Gauge> gauges) {
    std::lock_guard lock(mutex_);
    gauges_ = std::move(gauges);
}

bool WorkScheduler::stopping() const {
    std::lock_guard lock(mutex_);
    return stopping_;
}

std::vector<Gauge> WorkScheduler::gauges() const {
    std::lock_guard lock(mutex_);
    return gauges_;
}

void WorkScheduler::offer(WorkRange range) {
    {
        std::lock_guard lock(mutex_);
        if (closed_) return;  // stopped while the grant was in flight
        queue_.push_back(range);
    }
    changed_.notify_all();
}

void WorkScheduler::close() {
    {
        std::lock_guard lock(mutex_);
        closed_ = true;
    }
    changed_.notify_all();
}

void WorkScheduler::stop() {
    {
        std::lock_guard lock(mutex_);
        closed_ = true;
        stopping_ = true;
        queue_.clear();
    }
    changed_.notify_all();
}

void WorkScheduler::committed(WorkRange range) {
    std::lock_guard lock(mutex_);
    committed_.push_back(range);
    progress_.points += range.size();
}

int WorkScheduler::queued() const {
    std::lock_guard lock(mutex_);
    return static_cast<int>(queue_.size());
}

bool WorkScheduler::closed() const {
    std::lock_guard lock(mutex_);
    return closed_;
}

RankProgress WorkScheduler::progress() const {
    std::lock_guard lock(mutex_);
    return progress_;
}

std::vector<WorkRange> WorkScheduler::take_committed() {
    std::lock_guard lock(mutex_);
    return std::exchange(committed_, {});
}

}  // namespace voltpile
