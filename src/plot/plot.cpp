#include "plot/plot.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "plot/difference_plot.h"
#include "plot/picture.h"
#include "plot/plane.h"
#include "plot/terminal_picture.h"
#include "results/compare.h"

namespace voltpile {
namespace {

const FieldSpec& chosen_field(const ResultLayout& layout, const std::string& name) {
    std::vector<std::string> names;
    const FieldSpec* chosen = nullptr;
    for (const FieldSpec& field : layout.fields) {
        if (!chosen && (name.empty() || field.name == name)) chosen = &field;
        if (!field.variable()) names.push_back(field.name);
    }
    const std::string choices = fmt::format("{}", fmt::join(names, ", "));
    if (!chosen) throw JobError(fmt::format("there is no field {}; there is {}", name, choices));
    if (chosen->variable())
        throw JobError(fmt::format("{} has {} of variable length, which plot cannot draw; --field {}",
                                   chosen->name, chosen->shape == FieldShape::Text ? "texts" : "lists",
                                   names.empty() ? "would find nothing to draw" : "takes " + choices));
    return *chosen;
}

std::filesystem::path output_path(const ResultReader& result, const FieldSpec& field,
                                  const std::filesystem::path& wanted) {
    if (!wanted.empty()) return wanted;
    std::filesystem::path path = result.path();
    path.replace_extension();
    if (field.name != result.layout().fields.front().name) path += "_" + field.name;
    path += ".png";
    return path;
}

// Returns the values of one row as the picture shows them.
std::vector<double> drawn_row(const Plane& plane, const FieldSpec& field, std::int64_t y) {
    std::vector<double> row = plane.row(y);
    if (field.plot_from)
        for (double& value : row) value = *field.plot_from - value;
    return row;
}

std::string description(const FieldSpec& field, const ColorScale& scale, const std::vector<std::string>& at) {
    std::string text = fmt::format("{} ({}). Shown: {} [{}]", field.name, field.long_name,
                                   shown_quantity(field), field.unit);
    if (!at.empty()) text += fmt::format(" at {}", fmt::join(at, ", "));
    return text + colors_text(scale) + ". Gray: NaN or not computed.";
}

bool is_whole(const FieldSpec& field) {
    return field.type == FieldType::Int32 || field.type == FieldType::Int64;
}

// Returns the colors that the options choose.
ColorScale wanted_scale(const FieldSpec& field, const PlotOptions& options) {
    ColorScale scale;
    scale.scaling = scaling_named(options.scaling, "--scaling");
    scale.period = options.period;
    const bool is_angle = options.period != 0;
    if (is_angle && !(options.period > 0 && std::isfinite(options.period)))
        throw JobError(fmt::format("--period {}: must be a positive number", options.period));
    if (is_angle && !options.scaling.empty())
        throw JobError("--period colors angles evenly: leave out --scaling");
    scale.map = is_angle ? ColorMap::Twilight : field.labels.empty() ? ColorMap::Inferno : ColorMap::Classes;
    if (!options.map.empty()) scale.map = color_map_named(options.map, "--map");
    if (scale.map != ColorMap::Classes) return scale;
    if (!is_whole(field))
        throw JobError(fmt::format("--map classes colors whole numbers, which {} does not have", field.name));
    if (is_angle || !options.scaling.empty() || options.shade)
        throw JobError(
            "--map classes has a color for each whole number: leave out --scaling, --period and --shade");
    scale.scaling = Scaling::Linear;
    return scale;
}

// Returns how many points a side of a block has, so that the picture is no larger than wanted.
std::int64_t block_size(const Slice& slice, std::int64_t pixels) {
    if (pixels < 1) return 1;
    return (std::max(slice.width, slice.height) + pixels - 1) / pixels;
}

void check_contours(const std::vector<double>& contours, const Picture& picture) {
    const ColorScale& scale = picture.colors;
    for (const double level : contours) {
        if (scale.map == ColorMap::Classes)
            throw JobError("--contour: classes have no levels; choose another --map");
        if (!scale.any_value()) throw JobError("--contour: there are no values");
        if (level < scale.min || level > scale.max || !std::isfinite(level))
            throw JobError(fmt::format("--contour {:g}: outside the data: {} goes from {:g} to {:g}", level,
                                       picture.labels.shown, scale.min, scale.max));
    }
}

Picture field_picture(const ResultReader& result, const Plane& plane, const FieldSpec& field,
                      const PlotOptions& options) {
    Picture picture;
    picture.width = plane.width();
    picture.height = plane.height();
    picture.row = [&](std::int64_t y) { return drawn_row(plane, field, y); };
    picture.labels = plot_labels(result.layout(), field, plane.slice(), plane.block());
    picture.colors = color_scale(picture, wanted_scale(field, options), field.plot_from.has_value());
    picture.title = fmt::format("{} of {}", field.name, result.path().filename().string());
    picture.description = description(field, picture.colors, options.at);
    return picture;
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
    const Slice slice = cropped(make_slice(layout, field, options.at), layout, options.crop);
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
    const Slice slice = cropped(make_slice(layout, field, options.at), layout, options.crop);
    const Plane plane(result, field, slice, terminal_block(slice.width, slice.height, size));
    const Picture picture = field_picture(result, plane, field, options);
    check_contours(options.contours, picture);
    return terminal_text(picture, {.shade = options.shade, .contours = options.contours}, size);
}

}  // namespace voltpile
