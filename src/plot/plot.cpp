#include "plot/plot.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "base/build_info.h"
#include "base/error.h"
#include "plot/color_scale.h"
#include "plot/frame.h"
#include "plot/labels.h"
#include "plot/png_file.h"
#include "plot/slice.h"
#include "results/output_file.h"

namespace voltpile {
namespace {

constexpr std::int64_t least_long_side = 800;  // pixels
constexpr std::int64_t strip_height = 80;      // in pixels, of a picture with only one axis
constexpr std::int64_t most_around = 20'000;   // pixels of titles, axes and bar, along a side

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
    if (!wanted.empty()) {
        if (wanted.extension() != ".png") throw JobError(wanted.string() + ": a picture's name ends in .png");
        return wanted;
    }
    std::filesystem::path path = result.path();
    path.replace_extension();
    if (field.name != result.layout().fields.front().name) path += "_" + field.name;
    path += ".png";
    return path;
}

constexpr const char* software_keyword = "Software";
constexpr const char* software_text = "voltpile ";  // the version follows

// Replaces no file but a picture that this program drew.
void check_output(const std::filesystem::path& path, const ResultReader& result) {
    std::error_code error;
    if (!std::filesystem::exists(path, error)) return;
    const auto is_own = [](const std::filesystem::path& file) {
        return has_png_text(file, software_keyword, software_text);
    };
    check_output_file(path, "--output", {"voltpile plot", is_own}, {result.path()});
}

// Returns the values of one row.
std::vector<double> drawn_row(const ResultReader& result, const FieldSpec& field, const Slice& slice,
                              std::int64_t y) {
    const std::int64_t begin = slice.first_point + y * slice.width;
    std::vector<double> values = result.read(field, {begin, begin + slice.width});
    const std::size_t step = field.values_per_point();
    std::vector<double> row(static_cast<std::size_t>(slice.width));
    for (std::size_t x = 0; x < row.size(); ++x) {
        const double value = values[x * step + slice.component];
        row[x] = field.plot_from ? *field.plot_from - value : value;
    }
    return row;
}

ColorScale color_scale(const ResultReader& result, const FieldSpec& field, const Slice& slice) {
    ColorScale scale;
    for (std::int64_t y = 0; y < slice.height; ++y) {
        for (const double value : drawn_row(result, field, slice, y)) scale.include(value);
    }
    // Errors span decades. A field with plot_from has a customary picture, which is linear.
    scale.logarithmic = !field.plot_from && scale.min > 0 && scale.max / scale.min > 1e3;
    return scale;
}

// Pixels per point.
struct Enlargement {
    std::int64_t x = 1;
    std::int64_t y = 1;
};

Enlargement enlargement(const Slice& slice, bool is_strip, int wanted) {
    if (wanted < 0) throw JobError("the scale of a picture is a number of pixels per point: 1 or more");
    const std::int64_t longer = std::max(slice.width, slice.height);
    const std::int64_t scale =
        wanted > 0 ? wanted : std::max<std::int64_t>(1, (least_long_side + longer - 1) / longer);
    // Leaves room for the frame.
    if (longer > (PngFile::max_side - most_around) / scale) {
        throw JobError(
            fmt::format("a picture of {} x {} points, {} pixels each, is too large: at most {} pixels a side",
                        slice.width, slice.height, scale, PngFile::max_side - most_around));
    }
    return {scale, is_strip ? std::max(scale, strip_height) : scale};
}

// Repeats each color for `pixels` pixels.
void write_points(const std::vector<Rgb>& colors, std::int64_t pixels, std::span<std::uint8_t> rgb) {
    std::size_t at = 0;
    for (const Rgb color : colors) {
        for (std::int64_t k = 0; k < pixels; ++k) {
            rgb[at++] = color.red;
            rgb[at++] = color.green;
            rgb[at++] = color.blue;
        }
    }
}

PngTexts texts(const ResultReader& result, const FieldSpec& field, const ColorScale& scale,
               const std::vector<std::string>& at) {
    std::string text = fmt::format("{} ({}). Shown: {} [{}]", field.name, field.long_name,
                                   shown_quantity(field), field.unit);
    if (!at.empty()) text += fmt::format(" at {}", fmt::join(at, ", "));
    if (scale.max >= scale.min) {
        text += fmt::format(", from {:g} (black) to {:g} (yellow), {}", scale.min, scale.max,
                            scale.logarithmic ? "logarithmic" : "linear");
    }
    text += ". Gray: NaN or not computed.";
    const std::filesystem::path name = result.path().filename();
    return {{"Title", fmt::format("{} of {}", field.name, name.string())},
            {software_keyword, software_text + build_info().version},
            {"Description", text}};
}

}  // namespace

std::filesystem::path plot(const ResultReader& result, const PlotOptions& options) {
    const ResultLayout& layout = result.layout();
    const FieldSpec& field = chosen_field(layout, options.field);
    const Slice slice = make_slice(layout, field, options.at);
    const Enlargement pixels = enlargement(slice, layout.axes.size() == 1, options.scale);
    const std::filesystem::path path = output_path(result, field, options.output);
    check_output(path, result);

    const ColorScale scale = color_scale(result, field, slice);
    Box inside{0, 0, slice.width * pixels.x, slice.height * pixels.y};
    Box whole = inside;
    std::optional<PlotFrame> frame;
    if (!options.bare) {
        frame.emplace(plot_labels(layout, field, slice), scale, inside.width, inside.height);
        inside = frame->field();
        whole = {0, 0, frame->width(), frame->height()};
    }
    PngFile png(path, whole.width, whole.height, texts(result, field, scale, options.at));
    std::vector<std::uint8_t> rgb(static_cast<std::size_t>(3 * whole.width));
    std::vector<Rgb> colors;  // of a row of points
    for (std::int64_t y = 0; y < whole.height; ++y) {
        if (frame) frame->paint(y, rgb);
        if (y >= inside.y && y < inside.y + inside.height) {
            const std::int64_t row = y - inside.y;
            if (row % pixels.y == 0) {
                colors.clear();
                for (const double value : drawn_row(result, field, slice, row / pixels.y))
                    colors.push_back(scale.color(value));
            }
            write_points(colors, pixels.x, std::span(rgb).subspan(static_cast<std::size_t>(3 * inside.x)));
        }
        png.write_row(rgb);
    }
    png.finish();
    return path;
}

}  // namespace voltpile
