#include "results/parts/background_consolidation.h"

#include <spdlog/spdlog.h>

#include <utility>

#include "base/error.h"
#include "results/parts/consolidate.h"
#include "results/parts/part_file.h"

namespace voltpile {

BackgroundConsolidation::BackgroundConsolidation(const Life& life, const ResultLayout& layout,
                                                 const std::vector<PartInfo>& done)
    : parts_(life.parts),
      queue_(done.begin(), done.end()),
      thread_([this, life, layout] { copy_loop(life, layout); }) {}

BackgroundConsolidation::~BackgroundConsolidation() {
    if (thread_.joinable()) finish_thread(true);
}

void BackgroundConsolidation::committed(WorkRange range) {
    {
        std::lock_guard lock(mutex_);
        queue_.push_back({parts_ / part_name(range), range});
    }
    changed_.notify_all();
}

bool BackgroundConsolidation::publish(const Provenance& provenance, const PlanRecord& plan) {
    {
        std::lock_guard lock(mutex_);
        provenance_ = &provenance;
        plan_ = &plan;
    }
    finish_thread(false);
    return published_;
}

void BackgroundConsolidation::finish_thread(bool discard) {
    {
        std::lock_guard lock(mutex_);
        closing_ = true;
        discard_ = discard;
    }
    changed_.notify_all();
    thread_.join();
}

void BackgroundConsolidation::copy_loop(const Life& life, const ResultLayout& layout) {
    try {
        Consolidation consolidation(life, layout);
        for (;;) {
            PartInfo part;
            {
                std::unique_lock lock(mutex_);
                changed_.wait(lock, [this] { return !queue_.empty() || closing_; });
                if (discard_ || (queue_.empty() && (!provenance_ || !consolidation.covers_all()))) return;
                if (queue_.empty()) break;
                part = std::move(queue_.front());
                queue_.pop_front();
            }
            consolidation.add(part);
        }
        consolidation.publish(*provenance_, plan_);
        published_ = true;
    } catch (const std::exception& error) {
        spdlog::debug("consolidating in the background: {}", error.what());
    }
}

}  // namespace voltpile
