#include "plot/labels.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>

namespace voltpile {
namespace {

// Longer lines would make the picture wider than its field.
constexpr std::size_t longest_line = 100;  // bytes

std::string shortened(std::string text) {
    if (text.size() <= longest_line) return text;
    std::size_t end = longest_line;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80)
        --end;  // not in the middle of a character
    return text.substr(0, end) + " ...";
}

std::string with_unit(const std::string& name, const std::string& unit) {
    return shortened(unit.empty() || unit == "1" ? name : fmt::format("{} [{}]", name, unit));
}

// first, count: the points drawn; block: how many of them share pixels, which show the middle of theirs.
PlotAxis plot_axis(const SweepAxis& axis, std::int64_t first, std::int64_t count, std::int64_t block) {
    const std::string name = axis.parameter.empty() || axis.parameter == axis.name
                                 ? axis.name
                                 : fmt::format("{} = {}", axis.name, axis.parameter);
    const double step =
        axis.count > 1 ? (axis.value(axis.count - 1) - axis.value(0)) / static_cast<double>(axis.count - 1)
                       : 0;
    if (block == 1)
        return {with_unit(name, axis.unit), axis.value(first), axis.value(first + count - 1), count};
    const std::int64_t blocks = (count + block - 1) / block;
    const double begin = axis.value(first) + step * static_cast<double>(block - 1) / 2;
    return {with_unit(name, axis.unit), begin, begin + step * static_cast<double>(block * (blocks - 1)),
            blocks};
}

}  // namespace

std::string shown_quantity(const FieldSpec& field) {
    return field.plot_from ? fmt::format("{:g} - {}", *field.plot_from, field.name) : field.name;
}

PlotLabels plot_labels(const ResultLayout& layout, const FieldSpec& field, const Slice& slice,
                       std::int64_t block) {
    PlotLabels labels;
    const std::string job = std::filesystem::path(layout.job_path).stem().string();
    labels.shown = with_unit(shown_quantity(field), field.unit);
    const std::string where = slice.place.empty() ? "" : " at " + slice.place;
    labels.title = shortened(fmt::format("{}: {}{}", job, labels.shown, where));
    labels.subtitle = shortened(field.long_name);
    labels.x = plot_axis(layout.axes[0], slice.left, slice.width, block);
    if (layout.axes.size() > 1) labels.y = plot_axis(layout.axes[1], slice.top, slice.height, block);
    labels.block = block;
    const bool integral = field.type == FieldType::Int32 || field.type == FieldType::Int64;
    labels.whole = integral && (!field.plot_from || std::floor(*field.plot_from) == *field.plot_from);
    labels.words = field.labels;
    return labels;
}

}  // namespace voltpile
