#include "results/json_lines.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "results/message_lines.h"
#include "results/parts/durable_file.h"
#include "results/rows.h"

namespace voltpile {
namespace {

using nlohmann::ordered_json;

constexpr std::int64_t kPointsPerRead = 256;
constexpr std::int64_t kLongestFirstLine = 256 << 20;  // longer lines are not ours

ordered_json number(double value, FieldType type) {
    if (!std::isfinite(value)) return nullptr;
    if (type == FieldType::Int32 || type == FieldType::Int64) return static_cast<std::int64_t>(value);
    if (type == FieldType::Float32) return static_cast<float>(value);
    return value;
}

template <class T>
ordered_json list(const RowsView& rows, std::int64_t point) {
    ordered_json values = ordered_json::array();
    for (const T value : rows.list<T>(point)) {
        if (std::isfinite(static_cast<double>(value)))
            values.push_back(value);
        else
            values.push_back(nullptr);
    }
    return values;
}

ordered_json variable_value(const FieldSpec& field, const RowsView& rows, std::int64_t point) {
    if (field.shape == FieldShape::Text) return std::string(rows.text(point));
    switch (field.type) {
        case FieldType::Int32:
            return list<std::int32_t>(rows, point);
        case FieldType::Int64:
            return list<std::int64_t>(rows, point);
        case FieldType::Float32:
            return list<float>(rows, point);
        case FieldType::Float64:
            return list<double>(rows, point);
    }
    return nullptr;
}

// Returns the values from `next` on as lists nested like the field's dimensions, and advances `next`.
ordered_json nested(const FieldSpec& field, std::size_t dimension, const double*& next) {
    if (dimension == field.dimensions.size()) {
        const double value = *next++;
        const auto label = static_cast<std::size_t>(value);
        if (!field.labels.empty() && value >= 0 && label < field.labels.size()) return field.labels[label];
        return number(value, field.type);
    }
    ordered_json values = ordered_json::array();
    for (std::size_t i = 0; i < field.dimensions[dimension].labels.size(); ++i)
        values.push_back(nested(field, dimension + 1, next));
    return values;
}

void add_field(const ResultReader& result, const FieldSpec& field, WorkRange range,
               std::vector<ordered_json>& lines) {
    if (field.variable()) {
        const FieldBuffer buffer = result.read_rows(field, range);
        const RowsView rows(buffer, range.size(), field.value_bytes());
        for (std::int64_t i = 0; i < range.size(); ++i)
            lines[static_cast<std::size_t>(i)][field.name] = variable_value(field, rows, i);
        return;
    }
    const std::vector<double> values = result.read(field, range);
    const double* next = values.data();
    for (ordered_json& line : lines) line[field.name] = nested(field, 0, next);
}

void add_axes(const ResultLayout& layout, std::int64_t first, std::vector<ordered_json>& lines) {
    for (std::size_t i = 0; i < lines.size(); ++i) {
        std::int64_t rest = first + static_cast<std::int64_t>(i);
        const std::int64_t frame = frame_of(layout.axes, rest);
        for (const SweepAxis& axis : layout.axes) {
            if (axis.key.empty())  // the app numbers its points
                lines[i][axis.name] = rest % axis.count;
            else
                lines[i][axis.name] = axis.value(rest % axis.count, frame);
            rest /= axis.count;
        }
    }
}

}  // namespace

void write_json_lines(std::ostream& to, const ResultReader& result, WorkRange points) {
    const ResultLayout& layout = result.layout();
    for (std::int64_t at = points.begin; at < points.end && to; at += kPointsPerRead) {
        const WorkRange range{at, std::min(at + kPointsPerRead, points.end)};
        std::vector<ordered_json> lines(static_cast<std::size_t>(range.size()));
        add_axes(layout, at, lines);
        for (const FieldSpec& field : layout.fields) add_field(result, field, range, lines);
        for (ordered_json& line : lines) {
            add_messages(line);
            to << line.dump(-1, ' ', false, ordered_json::error_handler_t::replace) << '\n';
        }
    }
}

void write_json_lines(const std::filesystem::path& path, const ResultReader& result) {
    const std::filesystem::path temporary = temporary_name(path);
    try {
        errno = 0;
        std::ofstream file(temporary, std::ios::binary);
        write_json_lines(file, result, result.layout().whole());
        file.close();
        if (!file) throw FileError("write", path.string(), errno);
        publish_file(temporary, path);
    } catch (...) {
        discard_file(temporary);
        throw;
    }
}

bool is_json_lines_of(const std::filesystem::path& path, const ResultLayout& layout) {
    std::ifstream file(path, std::ios::binary);
    std::string line;
    for (char c = 0; std::ssize(line) < kLongestFirstLine && file.get(c) && c != '\n';) line += c;
    const ordered_json object = ordered_json::parse(line, nullptr, false);
    const auto has = [&](const auto& named) { return object.contains(named.name); };
    return object.is_object() && std::ranges::all_of(layout.axes, has) &&
           std::ranges::all_of(layout.fields, has);
}

}  // namespace voltpile
