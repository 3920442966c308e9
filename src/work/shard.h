// A coarse part of a sweep that one run computes, such as one element of a batch system's array. Runs of
// different shards may write the same result at the same time, on different hosts.
#pragma once

#include <cstdint>
#include <string>

#include "work/work_range.h"

namespace voltpile {

struct Shard {
    int index = 0;  // 0 ... count - 1
    int count = 1;  // 1: the whole sweep

    bool is_whole() const { return count == 1; }

    // Returns the points of this shard, [points * index / count, points * (index + 1) / count). The shards of
    // one count are disjoint and cover all points; some are empty if there are fewer points than shards.
    WorkRange interval(std::int64_t points) const;

    std::string text() const;  // "shard 2/4", as on the command line

    friend bool operator==(const Shard&, const Shard&) = default;
};

// Parses "2/4". Throws JobError.
Shard parse_shard(const std::string& text);

}  // namespace voltpile
