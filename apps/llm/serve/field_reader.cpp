#include "llm/serve/field_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "job/nearest.h"
#include "llm/model/byte_cursor.h"
#include "llm/model/json_file.h"
#include "llm/serve/api_error.h"

namespace voltpile::llm {
namespace {

constexpr int deepest = 64;  // nesting of a request

void check_request_json(const JsonProgress& progress) {
    if (progress.depth > deepest)
        throw ApiError(400, fmt::format("the JSON is nested deeper than {} levels", deepest));
    if (progress.duplicate)
        throw ApiError(400, fmt::format("\"{}\" occurs twice", printable(*progress.duplicate)),
                       *progress.duplicate);
}

}  // namespace

nlohmann::ordered_json parse_body(std::string_view body) {
    nlohmann::ordered_json object;
    try {
        object = parse_checked_json(body, check_request_json);
    } catch (const nlohmann::json::parse_error& error) {
        throw ApiError(400, fmt::format("the body is not valid JSON at byte {}", error.byte));
    } catch (const nlohmann::json::exception&) {
        throw ApiError(400, "the body is not valid JSON: a number is too large");
    }
    if (!object.is_object()) throw ApiError(400, "the body must be a JSON object");
    return object;
}

std::optional<std::int64_t> whole_number(const nlohmann::ordered_json& value) {
    constexpr auto most = std::numeric_limits<std::int64_t>::max();
    constexpr double exact = 1LL << 53;  // beyond, a double is not the number that was written
    if (value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(most))
        return std::nullopt;
    if (value.is_number_integer()) return value.get<std::int64_t>();
    if (!value.is_number_float()) return std::nullopt;
    const auto real = value.get<double>();
    if (!(std::abs(real) <= exact) || real != std::trunc(real)) return std::nullopt;
    return static_cast<std::int64_t>(real);
}

std::optional<std::int32_t> token_number(const nlohmann::ordered_json& value, std::int64_t vocabulary) {
    const std::optional<std::int64_t> number = whole_number(value);
    if (!number || *number < 0 || *number >= vocabulary) return std::nullopt;
    return static_cast<std::int32_t>(*number);
}

FieldReader::FieldReader(const nlohmann::ordered_json& object, std::string path)
    : object_(object), path_(std::move(path)) {}

void FieldReader::fail(std::string_view name, const std::string& problem) const {
    throw ApiError(400, fmt::format("\"{}{}\" {}", path_, name, problem), path_ + std::string(name));
}

const nlohmann::ordered_json* FieldReader::find(std::string_view name) {
    known_.emplace_back(name);
    const auto field = object_.find(name);
    return field == object_.end() || field->is_null() ? nullptr : &*field;
}

std::optional<bool> FieldReader::boolean(std::string_view name) {
    const nlohmann::ordered_json* value = find(name);
    if (!value) return std::nullopt;
    if (!value->is_boolean()) fail(name, "must be true or false");
    return value->get<bool>();
}

std::optional<std::int64_t> FieldReader::integer(std::string_view name, std::int64_t least,
                                                 std::int64_t most) {
    const nlohmann::ordered_json* value = find(name);
    if (!value) return std::nullopt;
    const std::optional<std::int64_t> number = whole_number(*value);
    if (!number || *number < least || *number > most)
        fail(name, fmt::format("must be a whole number from {} to {}", least, most));
    return number;
}

std::optional<double> FieldReader::number(std::string_view name, double least, double most) {
    const nlohmann::ordered_json* value = find(name);
    if (!value) return std::nullopt;
    if (!value->is_number() || !(value->get<double>() >= least && value->get<double>() <= most))
        fail(name, fmt::format("must be a number from {} to {}", least, most));
    return value->get<double>();
}

std::optional<std::string> FieldReader::text(std::string_view name) {
    const nlohmann::ordered_json* value = find(name);
    if (!value) return std::nullopt;
    if (!value->is_string()) fail(name, "must be a text");
    return value->get<std::string>();
}

std::vector<std::string> FieldReader::texts(std::string_view name, std::size_t most) {
    const nlohmann::ordered_json* value = find(name);
    if (!value) return {};
    std::vector<std::string> all;
    for (const nlohmann::ordered_json& each :
         value->is_array() ? *value : nlohmann::ordered_json::array({*value})) {
        if (!each.is_string()) fail(name, "must be a text or a list of texts");
        all.push_back(each.get<std::string>());
        if (all.back().empty()) fail(name, "has an empty text");
    }
    if (all.size() > most)
        fail(name, fmt::format("has {} texts; at most {} are supported", all.size(), most));
    return all;
}

void FieldReader::ignore(std::initializer_list<std::string_view> names) {
    known_.insert(known_.end(), names.begin(), names.end());
}

void FieldReader::only(std::string_view name, const nlohmann::ordered_json& supported) {
    const nlohmann::ordered_json* value = find(name);
    if (value && *value != supported)
        fail(name, fmt::format("is not supported; leave it out{}",
                               supported.is_null() ? "" : fmt::format(", or send {}", supported.dump())));
}

void FieldReader::finish() const {
    for (const auto& [name, value] : object_.items())
        if (std::ranges::find(known_, name) == known_.end() && !value.is_null())
            fail(name, "is not a known field" + did_you_mean(nearest_word(name, known_)));
}

}  // namespace voltpile::llm
