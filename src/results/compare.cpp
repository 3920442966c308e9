#include "results/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "base/format.h"
#include "results/rows.h"

namespace voltpile {
namespace {

constexpr std::int64_t kComparedValuesPerBlock = 1 << 18;
constexpr std::int64_t kComparedRowsPerBlock = 256;

std::string axis_text(const SweepAxis& axis) {
    return fmt::format("{} = {} from {} to {}{}{}, {} values, unit \"{}\"", axis.name, axis.parameter,
                       axis.from, axis.to, axis.endpoint ? " (included)" : "",
                       axis.frames.empty() ? "" : " in frame 0", count_text(axis.count), axis.unit);
}

std::string axes_text(const ResultReader& result) {
    std::string text = fmt::format("\n  {}:", result.path().string());
    for (const SweepAxis& axis : result.layout().axes) text += "\n    " + axis_text(axis);
    return text + (result.layout().axes.empty() ? " a single point" : "");
}

bool same_axis(const SweepAxis& a, const SweepAxis& b) {
    // The values along an axis lie on a line.
    return a.key == b.key && a.element == b.element && a.unit == b.unit && a.count == b.count &&
           a.frames == b.frames && a.value(0) == b.value(0) && a.value(a.count - 1) == b.value(b.count - 1);
}

const FieldSpec* field_named(const ResultReader& result, const std::string& name) {
    const auto& fields = result.layout().fields;
    const auto found = std::ranges::find(fields, name, &FieldSpec::name);
    return found == fields.end() ? nullptr : &*found;
}

std::vector<std::string> names_of_fields(const ResultReader& result) {
    std::vector<std::string> names;
    for (const FieldSpec& field : result.layout().fields) names.push_back(field.name);
    return names;
}

std::string dimensions_text(const FieldSpec& field) {
    std::string text;
    for (const FieldDimension& dimension : field.dimensions)
        text += fmt::format("{}{} ({})", text.empty() ? "" : " x ", dimension.name,
                            fmt::join(dimension.labels, ", "));
    return text.empty() ? "none" : text;
}

std::string shape_name(FieldShape shape) {
    return shape == FieldShape::Text ? "texts" : shape == FieldShape::List ? "lists" : "numbers";
}

void check_same_kind(const FieldSpec& a, const FieldSpec& b) {
    const auto refuse = [&](const char* what, const std::string& first, const std::string& second) {
        throw JobError(fmt::format("the field {} has another {} in the second result: {}, not {}", a.name,
                                   what, second, first));
    };
    if (a.shape != b.shape) refuse("kind", shape_name(a.shape), shape_name(b.shape));
    if (a.unit != b.unit) refuse("unit", '"' + a.unit + '"', '"' + b.unit + '"');
    if (a.dimensions != b.dimensions) refuse("shape", dimensions_text(a), dimensions_text(b));
}

std::vector<double> list_numbers(const RowsView& rows, std::int64_t point, FieldType type) {
    const auto converted = [](const auto& list) { return std::vector<double>(list.begin(), list.end()); };
    switch (type) {
        case FieldType::Int32:
            return converted(rows.list<std::int32_t>(point));
        case FieldType::Int64:
            return converted(rows.list<std::int64_t>(point));
        case FieldType::Float32:
            return converted(rows.list<float>(point));
        case FieldType::Float64:
            return rows.list<double>(point);
    }
    return {};
}

class FieldComparer {
  public:
    FieldComparer(const ResultReader& first, const ResultReader& second, const FieldSpec& field,
                  const AgreementLimits& limits)
        : first_(first),
          second_(second),
          in_first_(field),
          in_second_(*field_named(second, field.name)),
          found_(limits) {}

    void add(WorkRange range) {
        const std::int64_t block =
            in_first_.variable()
                ? kComparedRowsPerBlock
                : std::max<std::int64_t>(
                      1, kComparedValuesPerBlock / static_cast<std::int64_t>(in_first_.values_per_point()));
        for (std::int64_t at = range.begin; at < range.end; at += block) {
            const WorkRange piece{at, std::min(at + block, range.end)};
            in_first_.variable() ? add_rows(piece) : add_numbers(piece);
        }
    }
    FieldAgreement take() { return {in_first_.name, in_first_.unit, std::move(found_)}; }

  private:
    void add_numbers(WorkRange piece) {
        const std::vector<double> a = first_.read(in_first_, piece), b = second_.read(in_second_, piece);
        for (std::size_t i = 0; i < a.size(); ++i) found_.add(a[i], b[i]);
    }

    void add_rows(WorkRange piece) {
        const FieldBuffer buffer_a = first_.read_rows(in_first_, piece);
        const FieldBuffer buffer_b = second_.read_rows(in_second_, piece);
        const RowsView a(buffer_a, piece.size(), in_first_.value_bytes());
        const RowsView b(buffer_b, piece.size(), in_second_.value_bytes());
        for (std::int64_t i = 0; i < a.size(); ++i) {
            if (in_first_.shape == FieldShape::Text)
                found_.add_other(a.text(i) == b.text(i));
            else if (a.length(i) != b.length(i))
                found_.add_other(false);
            else
                add_lists(list_numbers(a, i, in_first_.type), list_numbers(b, i, in_second_.type));
        }
    }

    void add_lists(const std::vector<double>& a, const std::vector<double>& b) {
        for (std::size_t i = 0; i < a.size(); ++i) found_.add(a[i], b[i]);
    }

    const ResultReader& first_;
    const ResultReader& second_;
    const FieldSpec in_first_, in_second_;
    DifferenceStatistics found_;
};

}  // namespace

bool Comparison::agree() const {
    return missing_in_first == 0 && missing_in_second == 0 &&
           std::ranges::all_of(fields, [](const FieldAgreement& field) { return field.found.beyond == 0; });
}

void check_same_points(const ResultReader& first, const ResultReader& second) {
    if (!std::ranges::equal(first.layout().axes, second.layout().axes, same_axis))
        throw JobError(
            fmt::format("the two results have different points:{}{}", axes_text(first), axes_text(second)));
}

std::vector<FieldSpec> fields_to_compare(const ResultReader& first, const ResultReader& second,
                                         const std::vector<std::string>& names) {
    std::vector<FieldSpec> fields;
    for (const std::string& name : names.empty() ? names_of_fields(first) : names) {
        const FieldSpec* const in_first = field_named(first, name);
        const FieldSpec* const in_second = field_named(second, name);
        if (in_first && in_second) {
            check_same_kind(*in_first, *in_second);
            fields.push_back(*in_first);
        } else if (!names.empty()) {
            const ResultReader& without = in_first ? second : first;
            throw JobError(fmt::format("{} has no field {}; it has {}", without.path().string(), name,
                                       fmt::join(names_of_fields(without), ", ")));
        }
    }
    if (fields.empty())
        throw JobError(fmt::format("the two results have no field in common: {} has {}, {} has {}",
                                   first.path().string(), fmt::join(names_of_fields(first), ", "),
                                   second.path().string(), fmt::join(names_of_fields(second), ", ")));
    return fields;
}

Comparison compare(const ResultReader& first, const ResultReader& second, const AgreementLimits& limits,
                   const std::vector<std::string>& names) {
    check_same_points(first, second);
    const std::vector<FieldSpec> fields = fields_to_compare(first, second, names);
    Comparison comparison;
    RangeSet both, any = first.completed();
    for (const WorkRange& range : second.completed().ranges()) {
        for (const WorkRange& common : first.completed().within(range).ranges()) both.insert(common);
        for (const WorkRange& added : any.complement(range).ranges()) any.insert(added);
    }
    comparison.compared = both.size();
    comparison.missing_in_first = any.size() - first.completed().size();
    comparison.missing_in_second = any.size() - second.completed().size();
    comparison.missing_in_both = first.layout().point_count() - any.size();
    for (const FieldSpec& field : fields) {
        FieldComparer comparer(first, second, field, limits);
        for (const WorkRange& range : both.ranges()) comparer.add(range);
        comparison.fields.push_back(comparer.take());
    }
    for (const FieldSpec& field : first.layout().fields)
        if (!field_named(second, field.name)) comparison.only_in_first.push_back(field.name);
    for (const FieldSpec& field : second.layout().fields)
        if (!field_named(first, field.name)) comparison.only_in_second.push_back(field.name);
    return comparison;
}

}  // namespace voltpile
