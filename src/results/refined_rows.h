// Puts rows of the full grid together from the positions of a refined sweep: points that were not computed
// get the values of the corner of their cell with the smallest places, as far as that is known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "work/refined_order.h"

namespace voltpile {

class RefinedRows {
  public:
    // Reads values of one field at positions of one level.
    using Read = std::function<void(WorkRange positions, std::byte* to)>;

    // order: must outlive the rows.
    explicit RefinedRows(const RefinedOrder& order) : order_(order) {}

    // Begins with rows of a plane, of which the first is a multiple of order.step(0). levels: reads the field
    // "level", Int32, -1 at points that were not computed.
    void begin(std::int64_t plane, WorkRange rows, const Read& levels);

    // Returns the values of a field over these rows, `bytes` each: rows.size() * order.width() of them.
    std::vector<std::byte> values(std::size_t bytes, const Read& read) const;

    // How many points of these rows were computed.
    std::int64_t computed() const;

  private:
    template <class Use>
    void for_each(int level, Use use) const;  // use(position, index in the rows)

    const RefinedOrder& order_;
    std::int64_t plane_ = 0;
    WorkRange rows_;
    std::vector<std::int32_t> level_of_;  // of each point of the rows; -1: not computed
};

// Calls use(plane, rows) for blocks of rows that cover all points, in their order: each of at most about
// `points` points, and suitable for RefinedRows::begin().
void for_each_block(const RefinedOrder& order, std::int64_t points,
                    const std::function<void(std::int64_t plane, WorkRange rows)>& use);

}  // namespace voltpile
