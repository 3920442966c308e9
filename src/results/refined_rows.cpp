#include "results/refined_rows.h"

#include <algorithm>
#include <cstring>

namespace voltpile {

template <class Use>
void RefinedRows::for_each(int level, Use use) const {
    const WorkRange positions = order_.rows_range(level, plane_, rows_);
    const std::int64_t first = (plane_ * order_.height() + rows_.begin) * order_.width();
    std::int64_t position = positions.begin;
    order_.for_each(level, positions, [&](std::int64_t point) { use(position++, point - first); });
}

void RefinedRows::begin(std::int64_t plane, WorkRange rows, const Read& levels) {
    plane_ = plane;
    rows_ = rows;
    level_of_.assign(static_cast<std::size_t>(rows.size() * order_.width()), -1);
    std::vector<std::byte> found;
    for (int level = 0; level <= order_.levels(); ++level) {
        const WorkRange positions = order_.rows_range(level, plane_, rows_);
        found.resize(static_cast<std::size_t>(positions.size()) * sizeof(std::int32_t));
        levels(positions, found.data());
        for_each(level, [&](std::int64_t position, std::int64_t index) {
            std::memcpy(&level_of_[static_cast<std::size_t>(index)],
                        &found[static_cast<std::size_t>(position - positions.begin) * sizeof(std::int32_t)],
                        sizeof(std::int32_t));
        });
    }
}

std::vector<std::byte> RefinedRows::values(std::size_t bytes, const Read& read) const {
    std::vector<std::byte> all(level_of_.size() * bytes), found;
    const auto place = [&](std::int64_t index) { return &all[static_cast<std::size_t>(index) * bytes]; };
    for (int level = 0; level <= order_.levels(); ++level) {
        const WorkRange positions = order_.rows_range(level, plane_, rows_);
        found.resize(static_cast<std::size_t>(positions.size()) * bytes);
        read(positions, found.data());
        for_each(level, [&](std::int64_t position, std::int64_t index) {
            const std::byte* from = &found[static_cast<std::size_t>(position - positions.begin) * bytes];
            if (level > 0 && level_of_[static_cast<std::size_t>(index)] < 0) {
                const std::int64_t x = index % order_.width(), y = rows_.begin + index / order_.width();
                const std::int64_t row = order_.rows(level - 1).floor(y) - rows_.begin;
                from = place(row * order_.width() + order_.columns(level - 1).floor(x));
            }
            std::memcpy(place(index), from, bytes);
        });
    }
    return all;
}

std::int64_t RefinedRows::computed() const {
    return std::ranges::count_if(level_of_, [](std::int32_t level) { return level >= 0; });
}

void for_each_block(const RefinedOrder& order, std::int64_t points,
                    const std::function<void(std::int64_t plane, WorkRange rows)>& use) {
    const std::int64_t step = order.step(0);
    const std::int64_t steps = std::max<std::int64_t>(1, points / (step * order.width()));
    for (std::int64_t plane = 0; plane < order.planes(); ++plane)
        for (WorkRange rows{0, 0}; rows.end < order.height();) {
            rows = {rows.end, std::min(order.height(), rows.end + steps * step)};
            use(plane, rows);
        }
}

}  // namespace voltpile
