// Reads the rows of a slice of a result, point by point or averaged over square blocks of points, in bounded
// memory.
#pragma once

#include <cstdint>
#include <vector>

#include "plot/slice.h"
#include "results/result_reader.h"

namespace voltpile {

class Plane {
  public:
    // block: points per side of a block, at least 1. Blocks at the right and lower ends may be smaller. The
    // reader must outlive the plane. most_rows: read at most that many rows of a block, at equal distances,
    // so that an overview of a large result is quick; 0: all.
    Plane(const ResultReader& result, const FieldSpec& field, const Slice& slice, std::int64_t block,
          std::int64_t most_rows = 0);

    std::int64_t width() const { return width_; }    // in blocks
    std::int64_t height() const { return height_; }  // in blocks
    const Slice& slice() const { return slice_; }
    std::int64_t block() const { return block_; }

    // Returns width() numbers: the means of the finite values of the blocks, NaN for those without any. An
    // enumeration, which has no means, gives the value in the middle of each block. Throws FileError.
    std::vector<double> row(std::int64_t y) const { return row(y, 0, width_); }

    // The same for the blocks from `begin` up to `end`.
    std::vector<double> row(std::int64_t y, std::int64_t begin, std::int64_t end) const;

  private:
    // Calls use(x, value) for the points of row y of the slice from x = begin up to `end`, in order.
    template <class Use>
    void for_each_value(std::int64_t y, std::int64_t begin, std::int64_t end, Use use) const;

    const ResultReader& result_;
    FieldSpec field_;
    Slice slice_;
    std::int64_t block_ = 1, line_step_ = 1, width_ = 0, height_ = 0;
};

}  // namespace voltpile
