// A coarse part of a sweep that a run of its own computes, e.g. one element of a batch system's array: runs
// of different shards may go on at the same time, on different hosts, into the same result.
#pragma once

#include <cstdint>
#include <string>

#include "work/work_range.h"

namespace voltpile {

struct Shard {
    int index = 0;  // 0 ... count - 1
    int count = 1;  // 1: the whole sweep

    bool is_whole() const { return count == 1; }

    // The points of this shard, [points * index / count, points * (index + 1) / count): the shards of one
    // count are disjoint and cover all; one may be empty if there are fewer points than shards.
    WorkRange interval(std::int64_t points) const;

    std::string text() const;  // "shard 2/4", as it is given on the command line

    friend bool operator==(const Shard&, const Shard&) = default;
};

// "2/4". Throws JobError.
Shard parse_shard(const std::string& text);

}  // namespace voltpile
