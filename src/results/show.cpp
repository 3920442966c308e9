#include "results/show.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "base/error.h"
#include "base/format.h"
#include "base/text_table.h"
#include "results/check.h"
#include "results/json_lines.h"
#include "results/plan_record.h"
#include "results/rows.h"
#include "results/statistics.h"

namespace voltpile {
namespace {

using Row = TextRow;

std::string percent(double share) {
    // A result that lacks a point must not read 100 %.
    return share >= 1 ? "100 %" : fmt::format("{:.2f} %", std::min(100 * share, 99.99));
}

std::string type_text(const FieldSpec& field) {
    if (field.shape == FieldShape::Text) return "text";
    if (field.shape == FieldShape::List) {
        FieldSpec element = field;
        element.shape = FieldShape::Fixed;
        return "list of " + type_text(element);
    }
    switch (field.type) {
        case FieldType::Int32:
            return "int32";
        case FieldType::Int64:
            return "int64";
        case FieldType::Float32:
            return "float32";
        case FieldType::Float64:
            return "float64";
    }
    return "?";
}

std::string headline(const ResultReader& result) {
    const ResultLayout& layout = result.layout();
    const std::int64_t points = layout.point_count();
    const std::int64_t done = result.done();
    std::string text =
        fmt::format("{}: {} result of the {} job {}\n", result.path().string(),
                    result.complete() ? "complete" : "unfinished", layout.app, layout.job_path);
    text += fmt::format("  {} of {} ({})", count_text(done), points_text(points),
                        percent(static_cast<double>(done) / static_cast<double>(points)));
    if (!result.complete()) {
        const std::size_t gaps = result.completed().complement(layout.whole()).ranges().size();
        if (done == points) text += ", not yet put together into one file";
        if (gaps > 0) text += fmt::format(", {} range{} missing", gaps, gaps == 1 ? "" : "s");
        text += "; `voltpile run` of the same job goes on with it";
        std::error_code error;
        if (std::filesystem::exists(result.path(), error))
            text +=
                ".\n  It is a run with --fresh: the earlier result stays in its place until this one is "
                "complete";
    }
    text += '\n';
    if (const auto computed = result.computed())
        text += fmt::format("  refined by {}: {} of {} computed ({})\n", layout.refinement->field,
                            count_text(*computed), points_text(points),
                            percent(static_cast<double>(*computed) / static_cast<double>(points)));
    return text;
}

std::string dimensions_text(const ResultLayout& layout) {
    std::vector<Row> rows{{"dimension", "count", "first", "last", "unit", "is"}};
    for (const SweepAxis& axis : layout.axes) {
        rows.push_back({axis.name, count_text(axis.count), fmt::format("{:g}", axis.value(0)),
                        fmt::format("{:g}", axis.value(axis.count - 1)), axis.unit, axis.parameter});
    }
    for (const FrameTrack& track : layout.frame_tracks())
        rows.push_back({"  " + track.name, "", fmt::format("{:g}", track.values.front()),
                        fmt::format("{:g}", track.values.back()), track.unit, track.long_name});
    std::set<std::string> seen;
    for (const FieldSpec& field : layout.fields) {
        for (const FieldDimension& dimension : field.dimensions) {
            if (!seen.insert(dimension.name).second) continue;
            rows.push_back({dimension.name, std::to_string(dimension.labels.size()), dimension.labels.front(),
                            dimension.labels.back(), "",
                            fmt::format("{}", fmt::join(dimension.labels, ", "))});
        }
    }
    return rows.size() == 1 ? "  a single point: no dimensions\n" : text_table(rows, {1, 2, 3});
}

// Names the dimensions in HDF5's order, the slowest first.
std::string shape_text(const ResultLayout& layout, const FieldSpec& field) {
    std::vector<std::string> names;
    for (const SweepAxis& axis : layout.axes) names.insert(names.begin(), axis.name);
    for (const FieldDimension& dimension : field.dimensions) names.push_back(dimension.name);
    return fmt::format("({})", fmt::join(names, ", "));
}

// ": 0 end, 1 length"
std::string labels_text(const FieldSpec& field) {
    std::string text;
    for (std::size_t i = 0; i < field.labels.size(); ++i)
        text += fmt::format("{} {} {}", i == 0 ? ":" : ",", i, field.labels[i]);
    return text;
}

std::string fields_text(const ResultReader& result) {
    std::vector<Row> rows{
        {"field", "type", "dimensions", "unit", "min", "max", "mean", "at max", "NaN", "inf", "is"}};
    bool any_variable = false;
    for (const FieldSpec& field : result.layout().fields) {
        const Statistics found = field_statistics(result, field);
        const bool any = found.finite > 0;
        auto number = [&](double value) { return any ? fmt::format("{:.7g}", value) : std::string("-"); };
        const double share =
            any ? static_cast<double>(found.at_maximum) / static_cast<double>(found.finite) : 0;
        rows.push_back({field.name, type_text(field), shape_text(result.layout(), field), field.unit,
                        number(found.min), number(found.max), number(found.mean()),
                        any ? percent(share) : "-", count_text(found.nan), count_text(found.infinite),
                        field.long_name + labels_text(field)});
        any_variable = any_variable || field.variable();
    }
    return text_table(rows, {4, 5, 6, 7, 8, 9}) +
           (any_variable ? "  of lists and texts: least, greatest and mean length (texts: bytes)\n" : "");
}

// Returns the beginning of a text on one line.
std::string excerpt(std::string_view text) {
    constexpr std::size_t most_bytes = 64;
    std::string line;
    for (const char c : text.substr(0, most_bytes)) {
        const bool space = static_cast<unsigned char>(c) <= ' ';
        if (!space || !line.ends_with(' ')) line += space ? ' ' : c;
    }
    if (text.size() <= most_bytes) return line;
    const auto continues = [&](std::size_t at) {
        return (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80;
    };
    for (std::size_t at = most_bytes; at > 0 && continues(at); --at) line.pop_back();  // no half character
    return line + "...";
}

// Shows the beginnings of the texts of the first rows.
std::string texts_text(const ResultReader& result) {
    constexpr std::int64_t most_rows = 3;
    std::vector<Row> rows{{"row"}};
    std::vector<FieldSpec> fields;
    for (const FieldSpec& field : result.layout().fields) {
        if (field.shape != FieldShape::Text) continue;
        fields.push_back(field);
        rows.front().push_back(field.name);
    }
    if (fields.empty() || result.completed().empty()) return "";
    const WorkRange first = result.completed().ranges().front();
    for (std::int64_t point = first.begin; point < std::min(first.end, first.begin + most_rows); ++point) {
        Row row{count_text(point)};
        for (const FieldSpec& field : fields) {
            const FieldBuffer buffer = result.read_rows(field, {point, point + 1});
            row.push_back(excerpt(RowsView(buffer, 1, field.value_bytes()).text(0)));
        }
        rows.push_back(std::move(row));
    }
    return text_table(rows, {0}) + "  a whole row: voltpile show --row N\n\n";
}

// Formats a value of a line of JSON. Further lines of a text are indented like the first.
std::string value_text(const nlohmann::ordered_json& value, std::size_t indent) {
    if (!value.is_string()) return value.dump();
    std::string text;
    for (const char c : value.get<std::string>()) {
        text += c;
        if (c == '\n') text += std::string(indent, ' ');
    }
    return text;
}

std::string times_text(std::int64_t count) {
    return count == 1 ? "once" : count_text(count) + " times";
}

// A run that was never interrupted had one life: not worth a line.
std::string lives_text(const Provenance& made) {
    return made.lives > 1 ? count_text(made.lives) : "";
}

std::string batch_job_text(const Provenance& made) {
    if (made.batch_job.empty() || made.restart_count == 0) return made.batch_job;
    return made.batch_job + ", started again " + times_text(made.restart_count);
}

// The result states how right it is, if it was checked.
std::string checked_text(const ResultReader& result) {
    if (!result.complete()) return "";
    const auto check = read_check(result.path());
    return check ? fmt::format("  check: {}\n\n", check_text(*check)) : "";
}

// How the plan's estimates compare with what was measured, if the result has them.
std::string planned_text(const ResultReader& result) {
    if (!result.complete()) return "";
    const auto record = read_plan_record(result.path());
    return record ? plan_record_text(*record) + "\n" : "";
}

std::string provenance_text(const ResultReader& result) {
    const Provenance& made = result.provenance();
    std::string software = made.software + " " + made.software_version;
    if (!made.git_revision.empty()) software += " (revision " + made.git_revision + ")";
    std::vector<Row> rows{{"software", software},
                          {"date", made.date},
                          {"machine", made.machine},
                          {"author", made.author},
                          {"command", made.command_line},
                          {"job file", result.layout().job_path},
                          {"overrides", fmt::format("{}", fmt::join(result.layout().job_overrides, " "))},
                          {"fingerprint", result.layout().fingerprint},
                          {"lives", lives_text(made)},
                          {"batch job", batch_job_text(made)}};
    std::erase_if(rows, [](const Row& row) { return row[1].empty(); });
    return text_table(rows, {});
}

}  // namespace

std::string row_text(const ResultReader& result, std::int64_t row) {
    const std::int64_t rows = result.layout().point_count();
    if (row < 0 || row >= rows)
        throw JobError(
            fmt::format("--row {}: {} has the rows 0 to {}", row, result.path().string(), rows - 1));
    if (!result.completed().contains({row, row + 1}))
        throw JobError(fmt::format("--row {}: {} is unfinished and does not have this row yet", row,
                                   result.path().string()));
    std::stringstream line;
    write_json_lines(line, result, {row, row + 1});
    const auto object = nlohmann::ordered_json::parse(line);
    std::size_t width = 0;
    for (const auto& [name, value] : object.items()) width = std::max(width, name.size());
    std::string text = fmt::format("{}: row {} of {}\n", result.path().string(), row, count_text(rows));
    for (const auto& [name, value] : object.items())
        text += fmt::format("  {:<{}}  {}\n", name, width, value_text(value, width + 4));
    return text;
}

std::string show_text(const ResultReader& result) {
    return fmt::format("{}\n{}\n{}\n{}{}{}{}", headline(result), dimensions_text(result.layout()),
                       fields_text(result), texts_text(result), checked_text(result), planned_text(result),
                       provenance_text(result));
}

}  // namespace voltpile
