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

PlotAxis plot_axis(const SweepAxis& axis) {
    const std::string name =
        axis.parameter.empty() ? axis.name : fmt::format("{} = {}", axis.name, axis.parameter);
    return {with_unit(name, axis.unit), axis.value(0), axis.value(axis.count - 1), axis.count};
}

}  // namespace

std::string shown_quantity(const FieldSpec& field) {
    return field.plot_from ? fmt::format("{:g} - {}", *field.plot_from, field.name) : field.name;
}

PlotLabels plot_labels(const ResultLayout& layout, const FieldSpec& field, const Slice& slice) {
    PlotLabels labels;
    const std::string job = std::filesystem::path(layout.job_path).stem().string();
    labels.shown = with_unit(shown_quantity(field), field.unit);
    const std::string where = slice.place.empty() ? "" : " at " + slice.place;
    labels.title = shortened(fmt::format("{}: {}{}", job, labels.shown, where));
    labels.subtitle = shortened(field.long_name);
    labels.x = plot_axis(layout.axes[0]);
    if (layout.axes.size() > 1) labels.y = plot_axis(layout.axes[1]);
    const bool integral = field.type == FieldType::Int32 || field.type == FieldType::Int64;
    labels.whole = integral && (!field.plot_from || std::floor(*field.plot_from) == *field.plot_from);
    labels.words = field.labels;
    return labels;
}

}  // namespace voltpile
