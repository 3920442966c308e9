#include "plot/slice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "base/error.h"

namespace voltpile {
namespace {

// A dimension that a picture cannot show, so the user must choose one of its indices.
struct FreeDimension {
    std::string name;
    std::int64_t count = 1;
    std::string meaning;
};

std::vector<FreeDimension> free_dimensions(const ResultLayout& layout, const FieldSpec& field) {
    std::vector<FreeDimension> free;
    for (std::size_t i = 2; i < layout.axes.size(); ++i) {
        const SweepAxis& axis = layout.axes[i];
        free.push_back(
            {axis.name, axis.count,
             fmt::format("{} = {:g} to {:g}", axis.parameter, axis.value(0), axis.value(axis.count - 1))});
    }
    for (const FieldDimension& dimension : field.dimensions) {
        free.push_back({dimension.name, static_cast<std::int64_t>(dimension.labels.size()),
                        fmt::format("{}", fmt::join(dimension.labels, ", "))});
    }
    return free;
}

std::string choices(const std::vector<FreeDimension>& free, const FieldSpec& field) {
    if (free.empty())
        return fmt::format("{} needs no --at: it has only the dimensions that are drawn", field.name);
    std::string text = fmt::format("choose one index of each dimension of {} that is not drawn:", field.name);
    for (const FreeDimension& dimension : free) {
        text += fmt::format("\n  --at {}=0 ... {}={}   ({})", dimension.name, dimension.name,
                            dimension.count - 1, dimension.meaning);
    }
    return text;
}

std::map<std::string, std::int64_t> parse(const std::vector<std::string>& at,
                                          const std::vector<FreeDimension>& free, const FieldSpec& field) {
    std::map<std::string, std::int64_t> chosen;
    for (const std::string& text : at) {
        auto refuse = [&](const std::string& why) {
            throw JobError(fmt::format("--at {}: {}\n{}", text, why, choices(free, field)));
        };
        const auto equals = text.find('=');
        if (equals == std::string::npos) refuse("not of the form name=index");
        const std::string name = text.substr(0, equals);
        std::int64_t index = -1;
        const char* const end = text.data() + text.size();
        const auto parsed = std::from_chars(text.data() + equals + 1, end, index);
        if (parsed.ec != std::errc() || parsed.ptr != end) refuse("the index is not a whole number");
        const auto dimension =
            std::find_if(free.begin(), free.end(), [&](const FreeDimension& f) { return f.name == name; });
        if (dimension == free.end()) refuse(fmt::format("there is no dimension {} to choose from", name));
        if (index < 0 || index >= dimension->count) refuse("there is no such index");
        if (!chosen.emplace(name, index).second) refuse("chosen twice");
    }
    return chosen;
}

}  // namespace

Slice make_slice(const ResultLayout& layout, const FieldSpec& field, const std::vector<std::string>& at) {
    if (layout.axes.empty())
        throw JobError("a result without sweep axes is a single point: there is nothing to draw");
    const std::vector<FreeDimension> free = free_dimensions(layout, field);
    const std::map<std::string, std::int64_t> chosen = parse(at, free, field);
    for (const FreeDimension& dimension : free) {
        if (!chosen.contains(dimension.name)) throw JobError(choices(free, field));
    }
    Slice slice;
    std::vector<std::string> place;
    slice.width = layout.axes[0].count;
    slice.height = layout.axes.size() > 1 ? layout.axes[1].count : 1;
    slice.row_stride = slice.width;
    std::int64_t stride = slice.width * slice.height;
    for (std::size_t i = 2; i < layout.axes.size(); ++i) {
        const SweepAxis& axis = layout.axes[i];
        const std::int64_t index = chosen.at(axis.name);
        slice.first_point += index * stride;
        stride *= axis.count;
        const auto frame = chosen.find(frame_axis_name);
        place.push_back(fmt::format("{} = {:g}{}", axis.name,
                                    axis.value(index, frame == chosen.end() ? 0 : frame->second),
                                    axis.unit.empty() || axis.unit == "1" ? "" : " " + axis.unit));
    }
    for (const FieldDimension& dimension : field.dimensions) {
        const auto index = static_cast<std::size_t>(chosen.at(dimension.name));
        slice.component = slice.component * dimension.labels.size() + index;
        place.push_back(fmt::format("{} {}", dimension.name, dimension.labels[index]));
    }
    slice.place = fmt::format("{}", fmt::join(place, ", "));
    return slice;
}

}  // namespace voltpile
