#include "plot/difference_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "plot/picture.h"

namespace voltpile {
namespace {

// Returns the absolute differences of one row.
std::vector<double> difference_row(const ResultReader& first, const ResultReader& second,
                                   const FieldSpec& field, const Slice& slice, std::int64_t y) {
    const std::int64_t begin = slice.first_point + y * slice.width;
    const WorkRange range{begin, begin + slice.width};
    const std::vector<double> a = first.read(field, range), b = second.read(field, range);
    const std::size_t step = field.values_per_point();
    std::vector<double> row(static_cast<std::size_t>(slice.width));
    for (std::size_t x = 0; x < row.size(); ++x) {
        const std::size_t at = x * step + slice.component;
        row[x] = a[at] == b[at] ? 0 : std::abs(b[at] - a[at]);  // also for two infinities
    }
    return row;
}

// Lets equal values, which have no logarithm, be as black as the least difference.
ColorScale difference_colors(const Picture& picture) {
    ColorScale scale = color_scale(picture);
    ColorScale differing;
    for (std::int64_t y = 0; y < picture.slice.height; ++y)
        for (const double value : picture.row(y))
            if (value > 0) differing.include(value);
    if (!(differing.max / differing.min > 1e3)) return scale;
    scale.min = differing.min;
    scale.logarithmic = true;
    return scale;
}

}  // namespace

void plot_difference(const ResultReader& first, const ResultReader& second, const FieldSpec& field,
                     const DifferencePlotOptions& options) {
    if (field.variable())
        throw JobError(fmt::format("--png: {} has a variable length, which cannot be drawn", field.name));
    Picture picture;
    picture.slice = make_slice(first.layout(), field, options.at);
    picture.row = [&](std::int64_t y) { return difference_row(first, second, field, picture.slice, y); };
    picture.colors = difference_colors(picture);
    FieldSpec difference = field;
    difference.name = fmt::format("|difference of {}|", field.name);
    difference.plot_from.reset();
    difference.labels.clear();
    difference.long_name =
        fmt::format("{} against {}", second.path().filename().string(), first.path().filename().string());
    picture.labels = plot_labels(first.layout(), difference, picture.slice);
    picture.title = fmt::format("{}, {}", difference.name, difference.long_name);
    picture.description = picture.title + colors_text(picture.colors) + ". Gray: NaN or not computed.";
    draw_picture(options.output, picture, {});
}

}  // namespace voltpile
