// The unit of scheduling, of commit and of restart: a half-open interval of the flattened sweep.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

namespace voltpile {

struct WorkRange {
    std::int64_t begin = 0;
    std::int64_t end = 0;

    std::int64_t size() const { return end - begin; }
    bool empty() const { return end <= begin; }
    bool contains(std::int64_t point) const { return begin <= point && point < end; }
    bool overlaps(WorkRange other) const { return std::max(begin, other.begin) < std::min(end, other.end); }
    friend bool operator==(const WorkRange&, const WorkRange&) = default;
};

std::string points_text(std::int64_t count);  // "1 point", "12,000 points"

}  // namespace voltpile
