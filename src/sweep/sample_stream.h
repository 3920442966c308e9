// Lets a kernel compute a sample of a sweep's points: the stream numbers the sample 0, 1, ..., and the kernel
// gets the points of the whole sweep.
#pragma once

#include <algorithm>
#include <vector>

#include "sweep/point_stream.h"

namespace voltpile {

class SampleStream : public PointStream {
  public:
    // points: of the whole sweep, rising. Both must outlive the stream.
    SampleStream(PointStream& numbers, const std::vector<std::int64_t>& points)
        : numbers_(numbers), points_(points) {}

    bool draw(Ticket& ticket) override {
        if (!numbers_.draw(ticket)) return false;
        ticket.point = points_[static_cast<std::size_t>(ticket.point)];
        return true;
    }
    void finish(const Ticket& ticket, const void* outcome) override {
        const auto found = std::ranges::lower_bound(points_, ticket.point);
        numbers_.finish({found - points_.begin(), ticket.owner}, outcome);
    }
    bool report(double units) override { return numbers_.report(units); }

  private:
    PointStream& numbers_;
    const std::vector<std::int64_t>& points_;
};

}  // namespace voltpile
