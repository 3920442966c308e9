#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "plot/slice.h"

namespace voltpile {
namespace {

struct Crop {
    std::string name;
    double from = 0, to = 0;
};

Crop parse_crop(const std::string& text) {
    const auto equals = text.find('='), colon = text.find(':', equals == std::string::npos ? 0 : equals);
    const auto number = [&](std::size_t begin, std::size_t end) {
        double value = 0;
        const auto parsed = std::from_chars(text.data() + begin, text.data() + end, value);
        const bool whole = parsed.ec == std::errc() && parsed.ptr == text.data() + end;
        if (!whole || !std::isfinite(value))
            throw JobError(
                fmt::format("--crop {}: {} is not a number", text, text.substr(begin, end - begin)));
        return value;
    };
    if (equals == std::string::npos || colon == std::string::npos)
        throw JobError(fmt::format("--crop {}: not of the form name=from:to, such as x=-1:1.5", text));
    Crop crop{text.substr(0, equals), number(equals + 1, colon), number(colon + 1, text.size())};
    if (crop.from > crop.to) std::swap(crop.from, crop.to);
    return crop;
}

// Returns the indices of the points of the axis between the ends of the crop.
std::pair<std::int64_t, std::int64_t> points_within(const SweepAxis& axis, const Crop& crop,
                                                    const std::string& text) {
    const double first = axis.value(0), last = axis.value(axis.count - 1);
    const double low = std::min(first, last), high = std::max(first, last);
    const double step = axis.count > 1 ? (last - first) / static_cast<double>(axis.count - 1) : 0;
    const double slack = std::abs(step) * 1e-9;
    // A point's pixels reach half a step beyond it.
    const double reach = std::abs(step) / 2 + slack;
    if (crop.from < low - reach || crop.to > high + reach)
        throw JobError(fmt::format("--crop {}: outside the axis: {} goes from {:g} to {:g}", text, axis.name,
                                   first, last));
    std::int64_t begin = 0, end = axis.count;
    if (step != 0) {
        const double a = (crop.from - first) / step, b = (crop.to - first) / step;
        begin = static_cast<std::int64_t>(std::ceil(std::max(0.0, std::min(a, b) - 1e-9)));
        end = static_cast<std::int64_t>(std::floor(std::max(a, b) + 1e-9)) + 1;
        end = std::min(end, axis.count);
    }
    if (begin >= end)
        throw JobError(fmt::format("--crop {}: there is no point between; those of {} are {:g} apart", text,
                                   axis.name, std::abs(step)));
    return {begin, end};
}

}  // namespace

Slice cropped(Slice slice, const ResultLayout& layout, const std::vector<std::string>& crops) {
    bool done[2] = {};
    for (const std::string& text : crops) {
        const Crop crop = parse_crop(text);
        const std::size_t drawn = std::min<std::size_t>(layout.axes.size(), 2);
        std::size_t i = 0;
        while (i < drawn && layout.axes[i].name != crop.name) ++i;
        if (i == drawn)
            throw JobError(fmt::format("--crop {}: {} is not an axis of the picture, whose axes are {}{}",
                                       text, crop.name, layout.axes[0].name,
                                       drawn > 1 ? " and " + layout.axes[1].name : ""));
        if (std::exchange(done[i], true))
            throw JobError(fmt::format("--crop {}: {} is cropped twice", text, crop.name));
        const auto [begin, end] = points_within(layout.axes[i], crop, text);
        if (i == 0) {
            slice.left = begin, slice.width = end - begin;
            slice.first_point += begin;
        } else {
            slice.top = begin, slice.height = end - begin;
            slice.first_point += begin * slice.row_stride;
        }
    }
    return slice;
}

}  // namespace voltpile
