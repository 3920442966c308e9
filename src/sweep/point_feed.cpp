#include "sweep/point_feed.h"

#include <algorithm>
#include <utility>

namespace voltpile {

namespace {
constexpr std::size_t most_in_flight = 4;
}

PointStream::~PointStream() = default;

PointFeed::PointFeed(WorkScheduler& work, const std::vector<OutcomeField>& fields, SubmitRange submit)
    : work_(work), fields_(fields), submit_(std::move(submit)) {}

PointFeed::RangeInFlight* PointFeed::with_points() const {
    for (const auto& range : in_flight_) {
        if (range->next < range->range.end) return range.get();
    }
    return nullptr;
}

void PointFeed::start(WorkRange range) {
    if (!range.empty()) in_flight_.push_back(std::make_unique<RangeInFlight>(range, fields_));
}

bool PointFeed::draw(Ticket& ticket) {
    if (stopped_) return false;
    const std::lock_guard lock(mutex_);
    RangeInFlight* current = with_points();
    while (current == nullptr) {
        if (in_flight_.size() >= most_in_flight) return false;
        const auto range = work_.try_next();
        if (!range) return false;
        start(*range);
        current = with_points();
    }
    ticket = {current->next++, current};
    return true;
}

bool PointFeed::wait() {
    const std::lock_guard turn(waiting_);
    while (!stopped_) {
        {
            const std::lock_guard lock(mutex_);
            if (with_points() != nullptr) return true;
        }
        const auto range = work_.next();
        if (!range) return false;
        const std::lock_guard lock(mutex_);
        start(*range);
    }
    return false;
}

void PointFeed::finish(const Ticket& ticket, const void* outcome) {
    auto* range = static_cast<RangeInFlight*>(ticket.owner);
    range->buffers.store(static_cast<std::size_t>(ticket.point - range->range.begin), outcome);
    if (range->unfinished.fetch_sub(1) != 1) return;
    std::unique_ptr<RangeInFlight> done;
    {
        const std::lock_guard lock(mutex_);
        const auto found = std::find_if(in_flight_.begin(), in_flight_.end(),
                                        [&](const auto& r) { return r.get() == range; });
        done = std::move(*found);
        in_flight_.erase(found);
    }
    submit_(done->range, done->buffers.release());
}

}  // namespace voltpile
