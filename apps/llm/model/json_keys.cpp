#include "llm/model/json_keys.h"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace voltpile::llm {
namespace {

std::optional<std::int64_t> as_integer(const nlohmann::json& value) {
    if (!value.is_number_integer()) return std::nullopt;
    if (value.is_number_unsigned() &&
        value.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        return std::nullopt;
    return value.get<std::int64_t>();
}

}  // namespace

const nlohmann::json* JsonKeys::find(std::string_view key) const {
    const auto found = object_.find(key);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
}

std::optional<std::int64_t> JsonKeys::integer(std::string_view key) const {
    const auto* value = find(key);
    if (!value) return std::nullopt;
    const auto number = as_integer(*value);
    if (!number) fail_type(key, "a whole number");
    return number;
}

std::optional<double> JsonKeys::real(std::string_view key) const {
    const auto* value = find(key);
    if (value && !value->is_number()) fail_type(key, "a number");
    return value ? std::optional(value->get<double>()) : std::nullopt;
}

std::optional<bool> JsonKeys::boolean(std::string_view key) const {
    const auto* value = find(key);
    if (value && !value->is_boolean()) fail_type(key, "true or false");
    return value ? std::optional(value->get<bool>()) : std::nullopt;
}

std::optional<std::string> JsonKeys::text(std::string_view key) const {
    const auto* value = find(key);
    if (value && !value->is_string()) fail_type(key, "a text");
    return value ? std::optional(value->get<std::string>()) : std::nullopt;
}

std::optional<JsonKeys> JsonKeys::object(std::string_view key) const {
    const auto* value = find(key);
    if (value && !value->is_object()) fail_type(key, "an object");
    return value ? std::optional(JsonKeys(*value, path_)) : std::nullopt;
}

std::vector<std::int64_t> JsonKeys::integers(std::string_view key) const {
    const auto* value = find(key);
    if (!value) return {};
    if (!value->is_array()) return {*integer(key)};
    std::vector<std::int64_t> numbers;
    for (const auto& element : *value) {
        const auto number = as_integer(element);
        if (!number) fail_type(key, "a list of whole numbers");
        numbers.push_back(*number);
    }
    return numbers;
}

std::vector<double> JsonKeys::reals(std::string_view key) const {
    const auto* value = find(key);
    if (!value) return {};
    if (!value->is_array()) fail_type(key, "a list of numbers");
    std::vector<double> numbers;
    for (const auto& element : *value) {
        if (!element.is_number()) fail_type(key, "a list of numbers");
        numbers.push_back(element.get<double>());
    }
    return numbers;
}

std::int64_t JsonKeys::required_integer(std::string_view key) const {
    const auto number = integer(key);
    if (!number) fail(fmt::format("\"{}\" is missing", key));
    return *number;
}

void JsonKeys::fail(const std::string& message) const {
    throw FileError(fmt::format("{}: {}", path_, message), ExitCode::BadInput);
}

void JsonKeys::fail_type(std::string_view key, std::string_view expected) const {
    fail(fmt::format("\"{}\" is not {}", key, expected));
}

}  // namespace voltpile::llm
