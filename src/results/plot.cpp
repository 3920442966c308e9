#include "results/plot.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/build_info.h"
#include "base/error.h"
#include "results/colormap.h"
#include "results/png_file.h"
#include "results/slice.h"

namespace voltpile {
namespace {

constexpr std::int64_t least_long_side = 800;  // pixels
constexpr std::int64_t strip_height = 80;      // pixels of a picture with only one axis
constexpr Rgb no_value{128, 128, 128};

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
        throw JobError(fmt::format("{} has {} of any length, which are not drawn; --field {}", chosen->name,
                                   chosen->shape == FieldShape::Text ? "texts" : "lists",
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

// The values to draw of one row.
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

// From values to colours.
struct ColourScale {
    double min = std::numeric_limits<double>::infinity();
    double max = -std::numeric_limits<double>::infinity();
    bool logarithmic = false;

    Rgb colour(double value) const {
        if (!std::isfinite(value)) return no_value;
        if (!(max > min)) return inferno(0);
        if (logarithmic) return inferno(std::log(value / min) / std::log(max / min));
        return inferno((value - min) / (max - min));
    }
};

ColourScale colour_scale(const ResultReader& result, const FieldSpec& field, const Slice& slice) {
    ColourScale scale;
    for (std::int64_t y = 0; y < slice.height; ++y) {
        for (double value : drawn_row(result, field, slice, y)) {
            if (!std::isfinite(value)) continue;
            scale.min = std::min(scale.min, value);
            scale.max = std::max(scale.max, value);
        }
    }
    // Errors span decades. A picture with plot_from is a customary one, which is linear.
    scale.logarithmic = !field.plot_from && scale.min > 0 && scale.max / scale.min > 1e3;
    return scale;
}

// How many pixels make one point.
struct Enlargement {
    std::int64_t x = 1;
    std::int64_t y = 1;
};

Enlargement enlargement(const Slice& slice, bool is_strip, int wanted) {
    if (wanted < 0) throw JobError("the scale of a picture is a number of pixels per point: 1 or more");
    const std::int64_t longer = std::max(slice.width, slice.height);
    const std::int64_t scale =
        wanted > 0 ? wanted : std::max<std::int64_t>(1, (least_long_side + longer - 1) / longer);
    if (longer > PngFile::max_side / scale) {
        throw JobError(
            fmt::format("a picture of {} x {} points, {} pixels each, is too large: at most {} pixels a side",
                        slice.width, slice.height, scale, PngFile::max_side));
    }
    return {scale, is_strip ? std::max(scale, strip_height) : scale};
}

PngTexts texts(const ResultReader& result, const FieldSpec& field, const ColourScale& scale,
               const std::vector<std::string>& at) {
    const std::string shown =
        field.plot_from ? fmt::format("{:g} - {}", *field.plot_from, field.name) : field.name;
    std::string text = fmt::format("{} ({}). Shown: {} [{}]", field.name, field.long_name, shown, field.unit);
    if (!at.empty()) text += fmt::format(" at {}", fmt::join(at, ", "));
    if (scale.max >= scale.min) {
        text += fmt::format(", from {:g} (black) to {:g} (yellow), {}", scale.min, scale.max,
                            scale.logarithmic ? "logarithmic" : "linear");
    }
    text += ". Grey: NaN or not computed.";
    const std::filesystem::path name = result.path().filename();
    return {{"Title", fmt::format("{} of {}", field.name, name.string())},
            {"Software", "voltpile " + build_info().version},
            {"Description", text}};
}

}  // namespace

std::filesystem::path plot(const ResultReader& result, const PlotOptions& options) {
    const ResultLayout& layout = result.layout();
    const FieldSpec& field = chosen_field(layout, options.field);
    const Slice slice = make_slice(layout, field, options.at);
    const Enlargement pixels = enlargement(slice, layout.axes.size() == 1, options.scale);
    const std::filesystem::path path = output_path(result, field, options.output);

    const ColourScale scale = colour_scale(result, field, slice);
    PngFile png(path, slice.width * pixels.x, slice.height * pixels.y,
                texts(result, field, scale, options.at));
    std::vector<std::uint8_t> rgb;
    for (std::int64_t y = 0; y < slice.height; ++y) {
        rgb.clear();
        for (double value : drawn_row(result, field, slice, y)) {
            const Rgb colour = scale.colour(value);
            for (std::int64_t k = 0; k < pixels.x; ++k) {
                rgb.insert(rgb.end(), {colour.red, colour.green, colour.blue});
            }
        }
        for (std::int64_t k = 0; k < pixels.y; ++k) png.write_row(rgb);
    }
    png.finish();
    return path;
}

}  // namespace voltpile
