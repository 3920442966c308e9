#include "plot/plot.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "plot/difference_plot.h"
#include "plot/field_picture.h"
#include "plot/picture.h"
#include "plot/plane.h"
#include "plot/terminal_picture.h"
#include "results/compare.h"

namespace voltpile {
namespace {

std::filesystem::path output_path(const ResultReader& result, const FieldSpec& field,
                                  const std::filesystem::path& wanted) {
    if (!wanted.empty()) return wanted;
    std::filesystem::path path = result.path();
    path.replace_extension();
    if (field.name != result.layout().fields.front().name) path += "_" + field.name;
    path += ".png";
    return path;
}

// Lets two pictures have one scale, over the values of both.
void share_scale(Picture& a, Picture& b) {
    const ColorScale first = a.colors, second = b.colors;
    for (ColorScale* const scale : {&a.colors, &b.colors}) {
        const ColorScale& other = scale == &a.colors ? second : first;
        scale->min = std::min(first.min, second.min);
        scale->max = std::max(first.max, second.max);
        if (other.scaling != scale->scaling) scale->scaling = Scaling::Linear;
        scale->ranked.insert(scale->ranked.end(), other.ranked.begin(), other.ranked.end());
        std::ranges::sort(scale->ranked);
    }
}

}  // namespace

std::filesystem::path plot(const ResultReader& result, const PlotOptions& options) {
    const ResultLayout& layout = result.layout();
    const FieldSpec& field = chosen_field(layout, options.field);
    const Slice slice = wanted_slice(layout, field, options);
    const std::filesystem::path path = output_path(result, field, options.output);
    std::vector<std::filesystem::path> kept{result.path()};
    if (!options.against.empty()) kept.push_back(options.against);
    check_picture_place(path, "--output", kept);
    const Plane plane(result, field, slice, block_size(slice, options.size));
    PictureLook look{options.size, options.bare, options.deep, options.shade, options.contours};
    std::vector<Picture> pictures;
    pictures.push_back(field_picture(result, plane, field, options));
    if (options.against.empty()) {
        check_contours(options.contours, pictures[0]);
        draw_pictures(path, pictures, look);
        return path;
    }
    const ResultReader other(options.against);
    check_same_points(result, other);
    const std::vector<FieldSpec> fields = fields_to_compare(result, other, {field.name});
    const Plane other_plane(other, fields.front(), slice, plane.block());
    pictures.push_back(field_picture(other, other_plane, fields.front(), options));
    share_scale(pictures[0], pictures[1]);
    check_contours(options.contours, pictures[0]);
    const ColorMap map =
        pictures[0].colors.map == ColorMap::Classes ? ColorMap::Inferno : pictures[0].colors.map;
    pictures.push_back(difference_picture(plane, other_plane, result, other, field, map));
    for (std::size_t i = 0; i < 2; ++i)
        pictures[i].labels.title +=
            fmt::format(" ({})", (i == 0 ? result : other).path().filename().string());
    draw_pictures(path, pictures, look);
    return path;
}

std::string terminal_plot(const ResultReader& result, const PlotOptions& options, const TerminalSize& size) {
    const ResultLayout& layout = result.layout();
    const FieldSpec& field = chosen_field(layout, options.field);
    const Slice slice = wanted_slice(layout, field, options);
    const Plane plane(result, field, slice, terminal_block(slice.width, slice.height, size));
    const Picture picture = field_picture(result, plane, field, options);
    check_contours(options.contours, picture);
    return terminal_text(picture, {.shade = options.shade, .contours = options.contours}, size);
}

}  // namespace voltpile
