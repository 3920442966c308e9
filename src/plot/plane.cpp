#include "plot/plane.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace voltpile {
namespace {

constexpr std::int64_t values_per_read = 1 << 20;

}  // namespace

Plane::Plane(const ResultReader& result, const FieldSpec& field, const Slice& slice, std::int64_t block,
             std::int64_t most_rows)
    : result_(result),
      field_(field),
      slice_(slice),
      block_(block),
      line_step_(most_rows > 0 ? (block + most_rows - 1) / most_rows : 1),
      width_((slice.width + block - 1) / block),
      height_((slice.height + block - 1) / block) {}

template <class Use>
void Plane::for_each_value(std::int64_t y, std::int64_t begin, std::int64_t end, Use use) const {
    const auto step = static_cast<std::int64_t>(field_.values_per_point());
    const std::int64_t piece = std::max<std::int64_t>(1, values_per_read / step);
    const std::int64_t first = slice_.first_point + y * slice_.row_stride;
    for (std::int64_t from = begin; from < end; from += piece) {
        const std::int64_t to = std::min(end, from + piece);
        const std::vector<double> values = result_.read(field_, {first + from, first + to});
        for (std::int64_t x = from; x < to; ++x)
            use(x, values[static_cast<std::size_t>((x - from) * step) + slice_.component]);
    }
}

std::vector<double> Plane::row(std::int64_t y, std::int64_t begin, std::int64_t end) const {
    const auto size = static_cast<std::size_t>(end - begin);
    const std::int64_t first_x = begin * block_, last_x = std::min(end * block_, slice_.width);
    const std::int64_t top = y * block_, bottom = std::min(top + block_, slice_.height);
    std::vector<double> row(size, std::numeric_limits<double>::quiet_NaN());
    const auto at = [&](std::int64_t x) { return static_cast<std::size_t>(x / block_ - begin); };
    if (!field_.labels.empty()) {
        for_each_value((top + bottom) / 2, first_x, last_x, [&](std::int64_t x, double value) {
            const std::int64_t left = x / block_ * block_;
            if (x == (left + std::min(left + block_, slice_.width)) / 2) row[at(x)] = value;
        });
        return row;
    }
    std::vector<std::int32_t> counts(size);
    for (std::int64_t line = std::min(top + line_step_ / 2, bottom - 1); line < bottom; line += line_step_) {
        for_each_value(line, first_x, last_x, [&](std::int64_t x, double value) {
            if (!std::isfinite(value)) return;
            double& mean = row[at(x)];
            const int n = ++counts[at(x)];
            mean = n == 1 ? value : mean + (value - mean) / n;
        });
    }
    return row;
}

}  // namespace voltpile
