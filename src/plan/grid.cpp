#include "plan/grid.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/format.h"

namespace voltpile {

std::string largest_grid_text(std::span<const SweepAxis> axes, const GridFits& fits) {
    const auto shortened = [&](double share) {
        std::vector<std::int64_t> counts;
        for (const SweepAxis& axis : axes)
            counts.push_back(std::max<std::int64_t>(
                1, static_cast<std::int64_t>(share * static_cast<double>(axis.count))));
        return counts;
    };
    if (axes.empty() || !fits(shortened(0))) return "";
    double low = 0, high = 1;  // a share of each axis that fits, and one that does not
    for (int i = 0; i < 60; ++i) {
        const double middle = (low + high) / 2;
        (fits(shortened(middle)) ? low : high) = middle;
    }
    const std::vector<std::int64_t> counts = shortened(low);
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < axes.size(); ++i)
        texts.push_back(fmt::format("{} = {}", axes[i].name, count_text(counts[i])));
    return fmt::format("; the largest grid of this shape that fits has {}", fmt::join(texts, ", "));
}

}  // namespace voltpile
