#include "results/refined_picture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

namespace voltpile {
namespace {

// Marks all within `margin` of a mark along one direction: `count` elements that lie `stride` apart.
void widen(char* marks, std::int64_t count, std::int64_t stride, std::int64_t margin) {
    std::vector<char> before(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) before[static_cast<std::size_t>(i)] = marks[i * stride];
    for (std::int64_t i = 0; i < count; ++i) {
        if (!before[static_cast<std::size_t>(i)]) continue;
        const std::int64_t end = std::min(count, i + margin + 1);
        for (std::int64_t j = std::max<std::int64_t>(0, i - margin); j < end; ++j) marks[j * stride] = 1;
    }
}

// The cells that a place touches: two on a grid line, else one.
struct Touched {
    std::int64_t first, last;
};

Touched touched(const GridLines& lines, std::int64_t place) {
    const std::int64_t line = lines.line_before(place);
    const std::int64_t beyond = lines.cells() - 1;
    if (!lines.contains(place)) return {line, line};
    return {std::max<std::int64_t>(0, line - 1), std::min(line, beyond)};
}

}  // namespace

bool corners_differ(std::span<const double> corners, const Refinement& rule) {
    const auto numbers = std::ranges::count_if(corners, [](double value) { return !std::isnan(value); });
    if (numbers == 0) return false;
    if (numbers < std::ssize(corners)) return true;
    const auto [least, most] = std::ranges::minmax(corners);
    if (least == most) return false;
    const double scale = rule.relative ? std::max(std::abs(least), std::abs(most)) : 1.0;
    return rule.threshold == 0 || std::isinf(most - least) || most - least > rule.threshold * scale;
}

double RefinedPicture::at(std::int64_t plane, std::int64_t row, std::int64_t column) const {
    const std::int64_t columns = order_.columns(level_).size(), rows = order_.rows(level_).size();
    return values_[static_cast<std::size_t>((plane * rows + row) * columns + column)];
}

void RefinedPicture::add(const RefinedLevel& level, std::span<const double> values) {
    if (level.level() != level_ + 1) throw std::logic_error("levels come in order");
    const GridLines columns = order_.columns(level.level()), rows = order_.rows(level.level());
    std::vector<double> picture;
    picture.reserve(static_cast<std::size_t>(order_.planes() * rows.size() * columns.size()));
    std::int64_t position = level.positions().begin;
    for (std::int64_t plane = 0; plane < order_.planes(); ++plane) {
        for (std::int64_t row = 0; row < rows.size(); ++row) {
            const std::int64_t y = rows.at(row);
            for (std::int64_t column = 0; column < columns.size(); ++column) {
                const std::int64_t x = columns.at(column);
                const bool is_new =
                    level_ < 0 || !order_.columns(level_).contains(x) || !order_.rows(level_).contains(y);
                const std::int64_t here = is_new ? position++ : 0;
                if (is_new && level.chosen(here))
                    picture.push_back(values[static_cast<std::size_t>(here - level.positions().begin)]);
                else
                    picture.push_back(
                        at(plane, order_.rows(level_).line_before(y), order_.columns(level_).line_before(x)));
            }
        }
    }
    values_ = std::move(picture);
    ++level_;
}

std::vector<char> RefinedPicture::cells_to_divide(std::int64_t plane) const {
    const GridLines columns = order_.columns(level_), rows = order_.rows(level_);
    const std::int64_t across = columns.cells(), down = rows.cells();
    std::vector<char> divide(static_cast<std::size_t>(across * down));
    for (std::int64_t row = 0; row < down; ++row) {
        const std::int64_t below = std::min(row + 1, rows.size() - 1);
        for (std::int64_t column = 0; column < across; ++column) {
            const std::int64_t right = std::min(column + 1, columns.size() - 1);
            const std::array corners{at(plane, row, column), at(plane, row, right), at(plane, below, column),
                                     at(plane, below, right)};
            divide[static_cast<std::size_t>(row * across + column)] = corners_differ(corners, rule_) ? 1 : 0;
        }
    }
    for (std::int64_t row = 0; row < down; ++row)
        widen(&divide[static_cast<std::size_t>(row * across)], across, 1, rule_.margin);
    for (std::int64_t column = 0; column < across; ++column)
        widen(&divide[static_cast<std::size_t>(column)], down, across, rule_.margin);
    return divide;
}

RefinedLevel RefinedPicture::choose_next() const {
    RefinedLevel next(order_, level_ + 1);
    const GridLines columns = order_.columns(level_), rows = order_.rows(level_);
    const std::int64_t across = columns.cells();
    std::int64_t position = next.positions().begin;
    for (std::int64_t plane = 0; plane < order_.planes(); ++plane) {
        const std::vector<char> divide = cells_to_divide(plane);
        const GridLines all = order_.rows(next.level());
        for (std::int64_t line = 0; line < all.size(); ++line) {
            const std::int64_t y = all.at(line), points = order_.row_points(next.level(), y);
            const Touched in_rows = touched(rows, y);
            for (std::int64_t i = 0; i < points; ++i, ++position) {
                const Touched in_columns = touched(columns, order_.row_place(next.level(), y, i));
                bool chosen = false;
                for (std::int64_t row = in_rows.first; row <= in_rows.last; ++row)
                    for (std::int64_t column = in_columns.first; column <= in_columns.last; ++column)
                        chosen = chosen || divide[static_cast<std::size_t>(row * across + column)] != 0;
                if (chosen) next.choose(position);
            }
        }
    }
    return next;
}

}  // namespace voltpile
