// A set of points of the flattened sweep, stored as disjoint, sorted, merged ranges. Its memory grows with
// the number of gaps, not with the number of points.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "work/work_range.h"

namespace voltpile {

class RangeSet {
  public:
    RangeSet() = default;
    explicit RangeSet(WorkRange range) { insert(range); }

    void insert(WorkRange range);
    bool overlaps(WorkRange range) const;
    bool contains(WorkRange range) const;
    std::int64_t size() const { return size_; }  // points
    bool empty() const { return size_ == 0; }
    std::vector<WorkRange> ranges() const;

    // Returns the points of `whole` that are not in this set, in order.
    RangeSet complement(WorkRange whole) const;

    // Returns the points of `whole` that are in this set.
    RangeSet within(WorkRange whole) const { return complement(whole).complement(whole); }

    // Removes and returns the first `count` points, or fewer if a gap comes first. The set must not be empty.
    WorkRange take_front(std::int64_t count);

  private:
    std::map<std::int64_t, std::int64_t> end_of_;  // begin -> end
    std::int64_t size_ = 0;
};

}  // namespace voltpile
