#include "plot/plot.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "plot/picture.h"

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

std::string description(const FieldSpec& field, const ColorScale& scale, const std::vector<std::string>& at) {
    std::string text = fmt::format("{} ({}). Shown: {} [{}]", field.name, field.long_name,
                                   shown_quantity(field), field.unit);
    if (!at.empty()) text += fmt::format(" at {}", fmt::join(at, ", "));
    return text + colors_text(scale) + ". Gray: NaN or not computed.";
}

}  // namespace

std::filesystem::path plot(const ResultReader& result, const PlotOptions& options) {
    const ResultLayout& layout = result.layout();
    const FieldSpec& field = chosen_field(layout, options.field);
    Picture picture;
    picture.slice = make_slice(layout, field, options.at);
    const std::filesystem::path path = output_path(result, field, options.output);
    check_picture_place(path, "--output", {result.path()});
    picture.row = [&](std::int64_t y) { return drawn_row(result, field, picture.slice, y); };
    picture.colors = color_scale(picture);
    // Errors span decades. A field with plot_from has a customary picture, which is linear.
    const ColorScale& colors = picture.colors;
    picture.colors.logarithmic = !field.plot_from && colors.min > 0 && colors.max / colors.min > 1e3;
    picture.labels = plot_labels(layout, field, picture.slice);
    picture.title = fmt::format("{} of {}", field.name, result.path().filename().string());
    picture.description = description(field, colors, options.at);
    draw_picture(path, picture, {options.scale, options.bare});
    return path;
}

}  // namespace voltpile
