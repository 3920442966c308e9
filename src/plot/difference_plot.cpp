#include "plot/difference_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "plot/picture.h"

namespace voltpile {
namespace {

// Returns the absolute differences of one row.
std::vector<double> difference_row(const Plane& first, const Plane& second, std::int64_t y) {
    std::vector<double> a = first.row(y);
    const std::vector<double> b = second.row(y);
    for (std::size_t x = 0; x < a.size(); ++x)
        a[x] = a[x] == b[x] ? 0 : std::abs(b[x] - a[x]);  // also for two infinities
    return a;
}

// Lets equal values, which have no logarithm, have the color of the least difference.
ColorScale difference_colors(const Picture& picture, ColorMap map) {
    ColorScale wanted;
    wanted.map = map;
    ColorScale scale = color_scale(picture, wanted, true);
    ColorScale differing;
    for (std::int64_t y = 0; y < picture.height; ++y)
        for (const double value : picture.row(y))
            if (value > 0) differing.include(value);
    if (!(differing.max / differing.min > 1e3)) return scale;
    scale.min = differing.min;
    scale.scaling = Scaling::Logarithmic;
    scale.least_below = true;
    return scale;
}

}  // namespace

Picture difference_picture(const Plane& first_plane, const Plane& second_plane, const ResultReader& first,
                           const ResultReader& second, const FieldSpec& field, ColorMap map) {
    Picture picture;
    picture.width = first_plane.width();
    picture.height = first_plane.height();
    picture.row = [&](std::int64_t y) { return difference_row(first_plane, second_plane, y); };
    picture.colors = difference_colors(picture, map);
    FieldSpec difference = field;
    difference.name = fmt::format("|difference of {}|", field.name);
    difference.plot_from.reset();
    difference.labels.clear();
    difference.long_name =
        fmt::format("{} against {}", second.path().filename().string(), first.path().filename().string());
    picture.labels = plot_labels(first.layout(), difference, first_plane.slice(), first_plane.block());
    picture.title = fmt::format("{}, {}", difference.name, difference.long_name);
    picture.description = picture.title + colors_text(picture.colors) + ". Gray: NaN or not computed.";
    return picture;
}

void plot_difference(const ResultReader& first, const ResultReader& second, const FieldSpec& field,
                     const DifferencePlotOptions& options) {
    if (field.variable())
        throw JobError(fmt::format("--png: {} has a variable length, which cannot be drawn", field.name));
    const Slice slice = make_slice(first.layout(), field, options.at);
    const Plane a(first, field, slice, 1), b(second, field, slice, 1);
    draw_pictures(options.output, {difference_picture(a, b, first, second, field, ColorMap::Inferno)}, {});
}

}  // namespace voltpile
