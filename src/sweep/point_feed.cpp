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

PointFeed::RangeInFlight::RangeInFlight(WorkRange r, const RefinedLevel* level,
                                        const std::vector<OutcomeField>& fields)
    : range(r),
      all(level == nullptr),
      chosen(level ? level->points_of(r) : std::vector<RefinedLevel::Chosen>()),
      count(all ? r.size() : std::ssize(chosen)),
      unfinished(count),
      buffers(fields, static_cast<std::size_t>(r.size())) {}

Ticket PointFeed::RangeInFlight::draw() {
    const std::int64_t index = next++;
    return {all ? range.begin + index : chosen[static_cast<std::size_t>(index)].point, this};
}

std::int64_t PointFeed::RangeInFlight::place_of(std::int64_t point) const {
    if (all) return point - range.begin;
    return std::ranges::lower_bound(chosen, point, {}, &RefinedLevel::Chosen::point)->place;
}

PointFeed::RangeInFlight* PointFeed::with_points() const {
    for (const auto& range : in_flight_) {
        if (range->has_points()) return range.get();
    }
    return nullptr;
}

std::unique_ptr<PointFeed::RangeInFlight> PointFeed::started(WorkRange range) {
    if (range.empty()) return nullptr;
    auto item = std::make_unique<RangeInFlight>(range, work_.level(), fields_);
    if (item->has_points()) return item;
    submit_(range, item->buffers.release());
    return nullptr;
}

std::size_t PointFeed::draw(std::span<Ticket> tickets) {
    if (stopped_) return 0;
    std::unique_lock lock(mutex_);
    RangeInFlight* current = with_points();
    while (current == nullptr) {
        if (in_flight_.size() >= most_in_flight) return 0;
        lock.unlock();
        const auto range = work_.try_next();
        if (!range) return 0;
        std::unique_ptr<RangeInFlight> item = started(*range);
        lock.lock();
        if (item) in_flight_.push_back(std::move(item));
        current = with_points();
    }
    std::size_t drawn = 0;
    while (drawn < tickets.size() && current->has_points()) tickets[drawn++] = current->draw();
    return drawn;
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
        std::unique_ptr<RangeInFlight> item = started(*range);
        const std::lock_guard lock(mutex_);
        if (item) in_flight_.push_back(std::move(item));
    }
    return false;
}

void PointFeed::finish(const Ticket& ticket, const void* outcome) {
    auto* range = static_cast<RangeInFlight*>(ticket.owner);
    range->buffers.store(static_cast<std::size_t>(range->place_of(ticket.point)), outcome);
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
