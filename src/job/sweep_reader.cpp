#include "job/sweep_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "job/key_words.h"
#include "job/parameter.h"
#include "job/value_reader.h"

namespace voltpile {
namespace {

constexpr double largest_exact_integer = 9007199254740992.0;  // 2^53

bool is_axis_name(const std::string& name) {
    const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
    const auto digit = [](char c) { return c >= '0' && c <= '9'; };
    return name.size() <= 64 && letter(name[0]) &&
           std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || digit(c); });
}

// Reads one [[sweep]]. Its values_ hold the keys that are present and valid.
class AxisReader {
  public:
    AxisReader(const Node& node, const KeyTable& table, Problems& problems)
        : node_(node), table_(table), problems_(problems) {
        for (const auto& row : table.rows()) {
            if (table_of(row.path) != "sweep") continue;
            const auto key = row.path.substr(row.path.find('.') + 1);
            if (const Node* const given = node.find(key)) {
                if (auto value = read_value(row, *given, problems)) values_[key] = *value;
            } else if (row.default_value) {
                values_[key] = *row.default_value;
            } else {
                problems.add(node.origin, fmt::format("missing key sweep.{} in this [[sweep]]", key));
            }
        }
    }

    std::optional<SweepAxis> read(const std::function<std::size_t(const KeySpec&)>& length_of) {
        SweepAxis axis;
        const KeySpec* spec = nullptr;
        bool sound = values_.contains("name");
        if (values_.contains("parameter")) spec = read_parameter(length_of, axis);
        if (sound) sound = read_name(axis);
        for (const char* const key : {"from", "to", "count", "endpoint"})
            sound = sound && values_.contains(key);
        if (!sound || !spec) return std::nullopt;
        axis.from = std::get<Reals>(values_["from"])[0];
        axis.to = std::get<Reals>(values_["to"])[0];
        axis.count = std::get<Integers>(values_["count"])[0];
        axis.endpoint = std::get<Booleans>(values_["endpoint"])[0];
        if (!check_values(axis, *spec)) return std::nullopt;
        return axis;
    }

    // Returns where a key of this axis is written.
    Origin origin_of(const char* key) const {
        const Node* const found = node_.find(key);
        return found ? found->origin : node_.origin;
    }

  private:
    const KeySpec* read_parameter(const std::function<std::size_t(const KeySpec&)>& length_of,
                                  SweepAxis& axis) {
        const auto& text = std::get<Texts>(values_["parameter"])[0];
        const auto resolved = resolve_parameter(text, table_, length_of);
        if (const auto* why = std::get_if<std::string>(&resolved)) {
            problems_.add(origin_of("parameter"),
                          fmt::format("sweep.parameter = \"{}\": {}", shown(text), *why));
            return nullptr;
        }
        const auto& parameter = std::get<Parameter>(resolved);
        axis.name = parameter.label;
        axis.parameter = parameter.path;
        axis.key = parameter.spec->path;
        axis.element = parameter.element;
        axis.unit = parameter.spec->type == ValueType::Text ? "1" : parameter.spec->unit;
        return parameter.spec;
    }

    bool read_name(SweepAxis& axis) {
        const auto& name = std::get<Texts>(values_["name"])[0];
        if (name.empty()) return true;  // keeps the name made from the parameter
        if (!is_axis_name(name)) {
            problems_.add(
                origin_of("name"),
                fmt::format("sweep.name = \"{}\": must have at most 64 letters, digits and underscores and "
                            "not start with a digit",
                            shown(name)));
            return false;
        }
        axis.name = name;
        return true;
    }

    bool check_values(const SweepAxis& axis, const KeySpec& spec) {
        // SweepAxis::value() must not overflow in between.
        if (!std::isfinite((axis.to - axis.from) * static_cast<double>(axis.count))) {
            problems_.add(origin_of("to"),
                          fmt::format("sweep.to = {}: too far from sweep.from = {}", axis.to, axis.from));
            return false;
        }
        return check_end(axis, spec, 0, "from") && check_end(axis, spec, axis.count - 1, "to") &&
               (spec.type != ValueType::Integer || check_integers(axis, spec));
    }

    bool check_end(const SweepAxis& axis, const KeySpec& spec, std::int64_t point, const char* key) {
        const double value = axis.value(point);
        if (in_range(spec.range, value)) return true;
        const auto given = std::get<Reals>(values_[key])[0];
        const auto there =
            value == given ? "" : fmt::format(" ends the axis at {} and", with_unit(value, axis.unit));
        problems_.add(origin_of(key), fmt::format("sweep.{} = {}:{} {} {}", key, with_unit(given, axis.unit),
                                                  there, axis.parameter, describe_range(spec, value)));
        return false;
    }

    bool check_integers(const SweepAxis& axis, const KeySpec& spec) {
        const auto intervals = static_cast<double>(axis.endpoint ? axis.count - 1 : axis.count);
        const double span = axis.to - axis.from;
        // value() is exact if products stay below 2^53, so integral spacings suffice.
        const bool whole_from = std::trunc(axis.from) == axis.from;
        const bool whole_spacing = axis.count == 1 || (std::fmod(span, intervals) == 0 &&
                                                       std::abs(span) * intervals <= largest_exact_integer);
        if (whole_from && whole_spacing) return true;
        problems_.add(origin_of(whole_from ? "count" : "from"),
                      fmt::format("sweep over {}: needs integers, but {} of this axis is {}", spec.path,
                                  whole_from ? "point 1" : "point 0", axis.value(whole_from ? 1 : 0)));
        return false;
    }

    const Node& node_;
    const KeyTable& table_;
    Problems& problems_;
    std::map<std::string, Value> values_;
};

void check_duplicates(const std::vector<SweepAxis>& axes, const SweepAxis& axis, const AxisReader& reader,
                      Problems& problems) {
    for (const auto& other : axes) {
        if (other.parameter == axis.parameter)
            problems.add(reader.origin_of("parameter"),
                         fmt::format("axis \"{1}\" already sweeps {0}", axis.parameter, other.name));
        if (other.name == axis.name)
            problems.add(reader.origin_of("name"),
                         fmt::format("a second axis is named \"{}\"; give it another name "
                                     "with sweep.name",
                                     axis.name));
    }
}

// Blames the axis with the most points if the product of the counts overflows.
void check_point_count(const std::vector<SweepAxis>& axes, const std::vector<Origin>& counts,
                       Problems& problems) {
    std::int64_t points = 1;
    double product = 1;
    bool fits = true;
    std::vector<std::int64_t> factors;
    for (const auto& axis : axes) {
        fits = fits && !__builtin_mul_overflow(points, axis.count, &points);
        product *= static_cast<double>(axis.count);
        factors.push_back(axis.count);
    }
    if (fits) return;
    const auto longest = std::ranges::max_element(axes, {}, &SweepAxis::count) - axes.begin();
    problems.add(counts[static_cast<std::size_t>(longest)],
                 fmt::format("sweep.count = {}: the axes have {} = {:.3g} points in all, more than {}",
                             axes[static_cast<std::size_t>(longest)].count, fmt::join(factors, " x "),
                             product, std::numeric_limits<std::int64_t>::max()));
}

}  // namespace

std::vector<SweepAxis> read_sweep(const Node& document, const KeyTable& table,
                                  const std::function<std::size_t(const KeySpec&)>& length_of,
                                  Problems& problems) {
    std::vector<SweepAxis> axes;
    const Node* const sweep = document.find("sweep");
    if (!sweep) return axes;
    if (sweep->kind != NodeKind::List) {
        problems.add(sweep->origin,
                     sweep->kind == NodeKind::Table
                         ? "a sweep is a list of axes: write [[sweep]], with two brackets on each side"
                         : "a sweep is a list of axes: start each with a line [[sweep]]");
        return axes;
    }
    std::vector<Origin> counts;  // where the count of each axis is written
    for (const auto& node : sweep->items) {
        if (node.kind != NodeKind::Table) {
            problems.add(node.origin, "an axis is a table: start each with a line [[sweep]]");
            continue;
        }
        AxisReader reader(node, table, problems);
        const auto axis = reader.read(length_of);
        if (!axis) continue;
        check_duplicates(axes, *axis, reader, problems);
        axes.push_back(*axis);
        counts.push_back(reader.origin_of("count"));
    }
    check_point_count(axes, counts, problems);
    return axes;
}

}  // namespace voltpile
