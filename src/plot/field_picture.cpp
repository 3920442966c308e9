#include "plot/field_picture.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"

namespace voltpile {
namespace {

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

}  // namespace

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

Slice wanted_slice(const ResultLayout& layout, const FieldSpec& field, const PlotOptions& options) {
    const Slice slice = make_slice(layout, field, options.at);
    return cropped(slice, layout.in_frame(frame_of(layout.axes, slice.first_point)), options.crop);
}

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

Picture uncolored_picture(const ResultReader& result, const Plane& plane, const FieldSpec& field) {
    Picture picture;
    picture.width = plane.width();
    picture.height = plane.height();
    picture.row = [&plane, &field](std::int64_t y) { return drawn_row(plane, field, y); };
    const std::int64_t frame = frame_of(result.layout().axes, plane.slice().first_point);
    picture.labels = plot_labels(result.layout().in_frame(frame), field, plane.slice(), plane.block());
    picture.title = fmt::format("{} of {}", field.name, result.path().filename().string());
    return picture;
}

void set_colors(Picture& picture, const FieldSpec& field, ColorScale colors,
                const std::vector<std::string>& at) {
    picture.colors = std::move(colors);
    picture.description = description(field, picture.colors, at);
}

Picture field_picture(const ResultReader& result, const Plane& plane, const FieldSpec& field,
                      const PlotOptions& options) {
    Picture picture = uncolored_picture(result, plane, field);
    ColorScale colors = color_scale(picture, wanted_scale(field, options), field.plot_from.has_value());
    set_colors(picture, field, std::move(colors), options.at);
    return picture;
}

}  // namespace voltpile
