#include "job/key_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <span>

#include "job/key_table.h"

namespace voltpile {
namespace {

constexpr double largest_double = std::numeric_limits<double>::max();

std::string noun(ValueType type, bool plural) {
    switch (type) {
        case ValueType::Real:
            return plural ? "real numbers" : "a real number";
        case ValueType::Integer:
            return plural ? "integers" : "an integer";
        case ValueType::Boolean:
            return plural ? "of true or false" : "true or false";
        case ValueType::Text:
            return plural ? "strings" : "a string";
    }
    return "";
}

std::string number(double value) {
    // Whole numbers read better as such: 2147483646, not 2.147e+09.
    if (std::trunc(value) == value && std::abs(value) < 1e16) return fmt::format("{:.0f}", value);
    return fmt::format("{}", value);
}

std::string toml_scalar(const Value& value, std::size_t i) {
    if (const auto* reals = std::get_if<Reals>(&value)) {
        const auto text = fmt::format("{}", (*reals)[i]);
        return text.find_first_not_of("-0123456789") == std::string::npos ? text + ".0" : text;
    }
    if (const auto* integers = std::get_if<Integers>(&value)) return fmt::format("{}", (*integers)[i]);
    if (const auto* booleans = std::get_if<Booleans>(&value)) return (*booleans)[i] ? "true" : "false";
    return '"' + std::get<Texts>(value)[i] + '"';
}

std::string toml_list(const Value& value, std::span<const int> shape, std::size_t& next) {
    if (shape.empty()) return toml_scalar(value, next++);
    std::string text = "[";
    for (int i = 0; i < shape.front(); ++i) {
        if (i > 0) text += ", ";
        text += toml_list(value, shape.subspan(1), next);
    }
    return text + "]";
}

}  // namespace

std::string describe_type(const KeySpec& spec) {
    if (spec.shape.empty()) return noun(spec.type, false);
    std::string text = "a list of ";
    for (std::size_t i = 0; i < spec.shape.size(); ++i) {
        if (i > 0) text += "lists of ";
        if (spec.shape[i] != any_length) text += fmt::format("{} ", spec.shape[i]);
    }
    return text + noun(spec.type, true);
}

bool in_range(const ValueRange& range, double value) {
    const bool above = range.min_open ? value > range.min : value >= range.min;
    const bool below = range.max_open ? value < range.max : value <= range.max;
    return above && below;  // false for NaN
}

std::string describe_range(const KeySpec& spec, double value) {
    const auto& range = spec.range;
    std::vector<std::string> bounds;
    if (range.min > -largest_double)
        bounds.push_back(
            fmt::format("{} {}", range.min_open ? "greater than" : "at least", number(range.min)));
    if (range.max < largest_double)
        bounds.push_back(fmt::format("{} {}", range.max_open ? "less than" : "at most", number(range.max)));
    // Mentions finiteness only if the value is not finite or there are no other bounds.
    if (range.max == largest_double && (bounds.empty() || !std::isfinite(value))) bounds.push_back("finite");
    if (range.max > largest_double && std::isnan(value)) bounds.push_back("not nan");
    if (bounds.empty()) bounds.push_back("more than -inf");
    return fmt::format("must be {}", fmt::join(bounds, " and "));
}

std::string short_range(const KeySpec& spec) {
    if (spec.type == ValueType::Text) return fmt::format("{}", fmt::join(spec.choices, ", "));
    if (spec.type == ValueType::Boolean) return "";
    const auto& range = spec.range;
    const bool has_min = range.min > -largest_double;
    const bool has_max = range.max < largest_double;
    const auto min = has_min ? fmt::format("{} {}", range.min_open ? ">" : ">=", number(range.min)) : "";
    const auto max = has_max ? fmt::format("{} {}", range.max_open ? "<" : "<=", number(range.max)) : "";
    if (has_min && has_max) return min + " and " + max;
    if (has_max) return max;
    const bool to_infinity = range.max > largest_double;
    if (has_min) return to_infinity ? min + ", or inf" : min;
    return spec.type == ValueType::Integer ? "any" : to_infinity ? "any, or inf" : "finite";
}

std::string to_toml(const Value& value, const std::vector<int>& shape) {
    const auto sizes = actual_shape(shape, std::visit([](const auto& list) { return list.size(); }, value));
    std::size_t next = 0;
    return toml_list(value, sizes, next);
}

std::string with_unit(double value, const std::string& unit) {
    const auto text = fmt::format("{}", value);
    return unit.empty() || unit == "1" ? text : text + " " + unit;
}

std::vector<int> actual_shape(const std::vector<int>& shape, std::size_t length) {
    auto sizes = shape;
    auto any = static_cast<int>(length);
    for (const int size : shape)
        if (size != any_length) any /= size;
    for (int& size : sizes)
        if (size == any_length) size = any;
    return sizes;
}

std::string element_name(const KeySpec& spec, std::size_t element, std::size_t length) {
    const auto shape = actual_shape(spec.shape, length);
    std::string suffix;
    for (std::size_t i = shape.size(); i-- > 0;) {
        const auto size = static_cast<std::size_t>(shape[i]);
        const auto index = element % size;
        element /= size;
        const bool letter = spec.spatial && i + 1 == shape.size() && index < 3;
        suffix = (letter ? std::string(".") + "xyz"[index] : fmt::format("[{}]", index)) + suffix;
    }
    return spec.path + suffix;
}

std::string describe_key(const KeySpec& spec) {
    auto text = describe_type(spec);
    const auto range = short_range(spec);
    if (!range.empty()) text += spec.type == ValueType::Text ? "; one of " + range : "; " + range;
    if (!spec.unit.empty()) text += "; unit " + spec.unit;
    text += has_any_name(spec)   ? "; any names"
            : spec.default_value ? "; default " + to_toml(*spec.default_value, spec.shape)
                                 : "; required";
    if (spec.sweepable) text += "; can be swept";
    return text;
}

std::string describe_table(const std::string& table) {
    if (table.empty()) return "At the top";
    if (table == "frames.change") return "[[frames.change]], once for each course; any number";
    return table == "sweep" ? "[[sweep]], once for each axis; the first varies fastest" : "[" + table + "]";
}

}  // namespace voltpile
