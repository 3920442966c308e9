// Which points of a level a refined sweep computes: the unit of work between two decisions. All others take
// the values of a coarser point when the result is put together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "work/refined_order.h"

namespace voltpile {

class RefinedLevel {
  public:
    // A point to compute: its number in the flattened sweep, and its place in the range of positions.
    struct Chosen {
        std::int64_t point = 0;
        std::int64_t place = 0;
    };

    // No point is chosen; with `all`, every one. order: must outlive the level.
    RefinedLevel(const RefinedOrder& order, int level, bool all = false);

    int level() const { return level_; }
    WorkRange positions() const { return positions_; }
    bool chosen(std::int64_t position) const {
        const auto bit = static_cast<std::uint64_t>(position - positions_.begin);
        return (words_[bit / 64] >> (bit % 64) & 1U) != 0;
    }
    void choose(std::int64_t position) {
        const auto bit = static_cast<std::uint64_t>(position - positions_.begin);
        words_[bit / 64] |= std::uint64_t{1} << (bit % 64);
    }
    std::int64_t count() const;

    // The points to compute in a range of the level's positions; both numbers rise.
    std::vector<Chosen> points_of(WorkRange range) const;
    // The values of the field "level" over such a range, Int32: the level, -1 at points that are not
    // computed.
    std::vector<std::byte> level_values(WorkRange range) const;

    // For messages between ranks, which have the same order.
    std::string to_bytes() const;
    static RefinedLevel from_bytes(const RefinedOrder& order, std::string_view bytes);

  private:
    const RefinedOrder* order_;
    int level_;
    WorkRange positions_;
    std::vector<std::uint64_t> words_;  // a bit for each position
};

}  // namespace voltpile
