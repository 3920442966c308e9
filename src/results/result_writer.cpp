#include "results/result_writer.h"

#include <utility>

#include "base/fault.h"
#include "base/phase.h"
#include "results/parts/part_folder.h"

namespace voltpile {
namespace {

constexpr std::size_t max_waiting = 2;

}  // namespace

ResultWriter::ResultWriter(Life life, ResultLayout layout, std::function<void(WorkRange)> on_commit,
                           const RefinedLevel* level)
    : life_(std::move(life)),
      layout_(std::move(layout)),
      on_commit_(std::move(on_commit)),
      level_(level),
      thread_([this] { write_loop(); }) {}

ResultWriter::~ResultWriter() {
    {
        std::lock_guard lock(mutex_);
        closing_ = true;
        queue_.clear();
    }
    changed_.notify_all();
    thread_.join();
}

void ResultWriter::submit(WorkRange range, std::vector<FieldBuffer> data) {
    strike(FaultPlace::Range);
    if (level_) data.push_back(level_->level_values(range));
    const InPhase waiting(Phase::Commit);
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return failure_ || queue_.size() < max_waiting; });
    if (failure_) std::rethrow_exception(failure_);
    queue_.push_back({range, std::move(data)});
    changed_.notify_all();
}

void ResultWriter::drain() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return failure_ || (queue_.empty() && !writing_); });
    if (failure_) std::rethrow_exception(failure_);
}

void ResultWriter::write_loop() {
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [this] { return closing_ || !queue_.empty(); });
        if (closing_) return;
        const Item item = std::move(queue_.front());
        queue_.pop_front();
        writing_ = true;
        changed_.notify_all();
        lock.unlock();
        std::exception_ptr failure;
        try {
            const InPhase committing(Phase::Commit);  // also between calls that change files
            commit_part(life_, layout_, item.range, item.data);
            if (on_commit_) on_commit_(item.range);
        } catch (...) {
            failure = std::current_exception();
        }
        lock.lock();
        writing_ = false;
        if (failure) {
            failure_ = failure;
            queue_.clear();
        }
        changed_.notify_all();
        if (failure) return;  // later commits would fail too; submit() and drain() rethrow
    }
}

}  // namespace voltpile
