#include "results/csv_lines.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <vector>

#include "results/rows.h"

namespace voltpile {
namespace {

constexpr std::int64_t kPointsPerCsvRead = 4096;

std::string csv_cell(std::string_view text) {
    if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
    std::string quoted = "\"";
    for (const char c : text) {
        if (c == '"') quoted += '"';
        quoted += c;
    }
    return quoted + '"';
}

std::string number_text(double value, FieldType type) {
    const bool integer = type == FieldType::Int32 || type == FieldType::Int64;
    if (integer && std::isfinite(value)) return fmt::format("{}", static_cast<std::int64_t>(value));
    if (type == FieldType::Float32) return fmt::format("{}", static_cast<float>(value));
    return fmt::format("{}", value);
}

std::string value_text(double value, const FieldSpec& field) {
    const auto label = static_cast<std::size_t>(value);
    if (!field.labels.empty() && value >= 0 && label < field.labels.size())
        return csv_cell(field.labels[label]);
    return number_text(value, field.type);
}

template <class T>
std::string list_text(const RowsView& rows, std::int64_t point) {
    return csv_cell(fmt::format("[{}]", fmt::join(rows.list<T>(point), ",")));
}

std::string row_text(const FieldSpec& field, const RowsView& rows, std::int64_t point) {
    if (field.shape == FieldShape::Text) return csv_cell(rows.text(point));
    switch (field.type) {
        case FieldType::Int32:
            return list_text<std::int32_t>(rows, point);
        case FieldType::Int64:
            return list_text<std::int64_t>(rows, point);
        case FieldType::Float32:
            return list_text<float>(rows, point);
        case FieldType::Float64:
            return list_text<double>(rows, point);
    }
    return "";
}

// Appends the name of each element of a field: the last dimension varies fastest, as in the file.
void add_columns(const FieldSpec& field, std::size_t dimension, const std::string& index, std::string& line) {
    if (dimension == field.dimensions.size()) {
        line += (line.empty() ? "" : ",") +
                csv_cell(index.empty() ? field.name : fmt::format("{}[{}]", field.name, index));
        return;
    }
    const FieldDimension& along = field.dimensions[dimension];
    for (const std::string& label : along.labels) {
        const std::string next = fmt::format("{}{}{}={}", index, index.empty() ? "" : ",", along.name, label);
        add_columns(field, dimension + 1, next, line);
    }
}

void add_axes(const ResultLayout& layout, std::int64_t first, std::vector<std::string>& lines) {
    for (std::size_t i = 0; i < lines.size(); ++i) {
        std::int64_t rest = first + static_cast<std::int64_t>(i);
        const std::int64_t frame = frame_of(layout.axes, rest);
        for (const SweepAxis& axis : layout.axes) {
            const std::int64_t index = rest % axis.count;
            // The axis of an app that counts its points has no key.
            lines[i] +=
                axis.key.empty() ? fmt::format("{},", index) : fmt::format("{},", axis.value(index, frame));
            rest /= axis.count;
        }
    }
}

void add_field(const ResultReader& result, const FieldSpec& field, WorkRange range,
               std::vector<std::string>& lines) {
    if (field.variable()) {
        const FieldBuffer buffer = result.read_rows(field, range);
        const RowsView rows(buffer, range.size(), field.value_bytes());
        for (std::size_t i = 0; i < lines.size(); ++i)
            lines[i] += row_text(field, rows, static_cast<std::int64_t>(i)) + ",";
        return;
    }
    const std::vector<double> values = result.read(field, range);
    const std::size_t width = field.values_per_point();
    for (std::size_t i = 0; i < values.size(); ++i) lines[i / width] += value_text(values[i], field) + ",";
}

}  // namespace

std::string csv_header(const ResultLayout& layout) {
    std::string line;
    for (const SweepAxis& axis : layout.axes) line += (line.empty() ? "" : ",") + csv_cell(axis.name);
    for (const FieldSpec& field : layout.fields) add_columns(field, 0, "", line);
    return line + "\r\n";
}

void write_csv_lines(std::ostream& to, const ResultReader& result, WorkRange points) {
    const ResultLayout& layout = result.layout();
    for (std::int64_t at = points.begin; at < points.end && to; at += kPointsPerCsvRead) {
        const WorkRange range{at, std::min(at + kPointsPerCsvRead, points.end)};
        std::vector<std::string> lines(static_cast<std::size_t>(range.size()));
        add_axes(layout, at, lines);
        for (const FieldSpec& field : layout.fields) add_field(result, field, range, lines);
        for (std::string& line : lines) {
            line.pop_back();  // the last comma
            to << line << "\r\n";
        }
    }
}

}  // namespace voltpile
