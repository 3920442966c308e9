#include "work/refined_order.h"

#include <stdexcept>

namespace voltpile {
namespace {

// The points between the lines of the coarser grid: the odd multiples of the step, but for the last place.
std::int64_t places_between(std::int64_t count, std::int64_t step) {
    return count - 1 <= step ? 0 : (count - 2 - step) / (2 * step) + 1;
}

}  // namespace

RefinedOrder::RefinedOrder(const std::vector<std::int64_t>& counts, int levels) : levels_(levels) {
    if (counts.size() == 1) {
        height_ = counts[0];
    } else {
        for (std::size_t i = 0; i < counts.size(); ++i)
            (i == 0 ? width_ : i == 1 ? height_ : planes_) *= counts[i];
    }
    begins_.push_back(0);
    for (int level = 0; level <= levels_; ++level)
        begins_.push_back(begins_.back() + planes_ * points_of_plane(level));
    if (begins_.back() != points()) throw std::logic_error("levels do not have all points");
}

WorkRange RefinedOrder::level_range(int level) const {
    const auto index = static_cast<std::size_t>(level);
    return {begins_[index], begins_[index + 1]};
}

WorkRange RefinedOrder::rows_range(int level, std::int64_t plane, WorkRange rows) const {
    const std::int64_t begin = begins_[static_cast<std::size_t>(level)] + plane * points_of_plane(level);
    return {begin + points_above(level, rows.begin), begin + points_above(level, rows.end)};
}

int RefinedOrder::level_of_position(std::int64_t position) const {
    const auto beyond = std::upper_bound(begins_.begin() + 1, begins_.end() - 1, position);
    return static_cast<int>(beyond - begins_.begin()) - 1;
}

int RefinedOrder::level_of(std::int64_t x, std::int64_t y) const {
    int level = 0;
    while (!columns(level).contains(x) || !rows(level).contains(y)) ++level;
    return level;
}

std::int64_t RefinedOrder::row_points(int level, std::int64_t y) const {
    if (level > 0 && rows(level - 1).contains(y)) return places_between(width_, step(level));
    return columns(level).size();
}

std::int64_t RefinedOrder::row_place(int level, std::int64_t y, std::int64_t index) const {
    if (level > 0 && rows(level - 1).contains(y)) return (2 * index + 1) * step(level);
    return columns(level).at(index);
}

std::int64_t RefinedOrder::point_at(std::int64_t position) const {
    std::int64_t found = 0;
    for_each(level_of_position(position), {position, position + 1},
             [&](std::int64_t point) { found = point; });
    return found;
}

std::int64_t RefinedOrder::points_above(int level, std::int64_t y) const {
    const std::int64_t all = rows(level).below(y);
    if (level == 0) return all * columns(0).size();
    const std::int64_t old = rows(level - 1).below(y);
    return old * places_between(width_, step(level)) + (all - old) * columns(level).size();
}

}  // namespace voltpile
