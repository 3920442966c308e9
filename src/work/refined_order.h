// Numbers the points of a sweep that refines its grid: those of the coarsest grid first, then level by level
// those that lie between. Such a number is a position; ranges, commits and parts of a refined job count
// positions, results count points of the flattened sweep. Pure geometry.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "work/work_range.h"

namespace voltpile {

// The grid lines of a level along an axis: the multiples of `step`, and the last place of the axis.
class GridLines {
  public:
    GridLines(std::int64_t count, std::int64_t step) : last_(count - 1), step_(step) {}

    std::int64_t size() const { return (last_ + step_ - 1) / step_ + 1; }
    std::int64_t at(std::int64_t line) const { return std::min(line * step_, last_); }
    bool contains(std::int64_t place) const { return place == last_ || place % step_ == 0; }
    // The number of the last line that is not beyond the place.
    std::int64_t line_before(std::int64_t place) const { return place == last_ ? size() - 1 : place / step_; }
    std::int64_t floor(std::int64_t place) const { return at(line_before(place)); }
    // How many lines have a smaller place; place: at most the number of places.
    std::int64_t below(std::int64_t place) const {
        return place > last_ ? size() : (place + step_ - 1) / step_;
    }
    // The intervals between neighboring lines; one if there is only one line.
    std::int64_t cells() const { return std::max<std::int64_t>(1, size() - 1); }

  private:
    std::int64_t last_, step_;
};

class RefinedOrder {
  public:
    // counts: the points of each axis, the first varies fastest. The first two axes are refined, at each
    // point of the others; a sweep with one axis is a single column. levels: as in Refinement.
    RefinedOrder(const std::vector<std::int64_t>& counts, int levels);

    int levels() const { return levels_; }  // that of the finest grid; the coarsest grid has level 0
    std::int64_t width() const { return width_; }
    std::int64_t height() const { return height_; }
    std::int64_t planes() const { return planes_; }
    std::int64_t points() const { return width_ * height_ * planes_; }
    std::int64_t step(int level) const { return std::int64_t{1} << (levels_ - level); }
    GridLines columns(int level) const { return {width_, step(level)}; }
    GridLines rows(int level) const { return {height_, step(level)}; }

    // The positions of a level. Those of a level's points in some rows of a plane follow one another, too.
    WorkRange level_range(int level) const;
    WorkRange rows_range(int level, std::int64_t plane, WorkRange rows) const;
    int level_of_position(std::int64_t position) const;

    // The level of the grid that has a point first.
    int level_of(std::int64_t x, std::int64_t y) const;
    // How many points of a level a row has, and the place of one of them; y: a row of the level's grid.
    std::int64_t row_points(int level, std::int64_t y) const;
    std::int64_t row_place(int level, std::int64_t y, std::int64_t index) const;

    // Calls use(point) for each position of a range within one level, in order. Points rise.
    template <class Use>
    void for_each(int level, WorkRange positions, Use use) const;

    std::int64_t point_at(std::int64_t position) const;

  private:
    // The points of a level in the rows before `y` of a plane.
    std::int64_t points_above(int level, std::int64_t y) const;
    std::int64_t points_of_plane(int level) const { return points_above(level, height_); }

    std::int64_t width_ = 1, height_ = 1, planes_ = 1;
    int levels_;
    std::vector<std::int64_t> begins_;  // of the levels, and the end
};

template <class Use>
void RefinedOrder::for_each(int level, WorkRange positions, Use use) const {
    if (positions.empty()) return;
    const GridLines lines = rows(level);
    const std::int64_t of_plane = points_of_plane(level);
    std::int64_t left = positions.size(), at = positions.begin - begins_[static_cast<std::size_t>(level)];
    std::int64_t plane = at / of_plane;
    at %= of_plane;
    // The last line with at most `at` points above it.
    std::int64_t line = 0;
    for (std::int64_t beyond = lines.size(); beyond - line > 1;) {
        const std::int64_t middle = line + (beyond - line) / 2;
        (points_above(level, lines.at(middle)) <= at ? line : beyond) = middle;
    }
    at -= points_above(level, lines.at(line));
    for (; left > 0; ++line, at = 0) {
        if (line == lines.size()) line = 0, ++plane;
        const std::int64_t y = lines.at(line), count = row_points(level, y);
        const std::int64_t row = (plane * height_ + y) * width_;
        for (; at < count && left > 0; ++at, --left) use(row + row_place(level, y, at));
    }
}

}  // namespace voltpile
