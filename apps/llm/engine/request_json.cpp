#include "llm/engine/request_json.h"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "job/nearest.h"

namespace voltpile::llm {
namespace {

using json = nlohmann::ordered_json;

void read_value(const RequestField& field, std::string_view name, const json& value, float& to) {
    to = static_cast<float>(real_field(name, value, field.least, field.most));
}

void read_value(const RequestField& field, std::string_view name, const json& value, int& to) {
    to = static_cast<int>(integer_field(name, value, static_cast<std::int64_t>(field.least),
                                        static_cast<std::int64_t>(field.most)));
}

void read_value(const RequestField&, std::string_view name, const json& value, std::uint64_t& to) {
    to = static_cast<std::uint64_t>(integer_field(name, value, 0, std::numeric_limits<std::int64_t>::max()));
}

void read_value(const RequestField&, std::string_view name, const json& value, bool& to) {
    to = boolean_field(name, value);
}

void read_value(const RequestField&, std::string_view name, const json& value, std::string& to) {
    to = text_field(name, value);
}

void read_value(const RequestField&, std::string_view name, const json& value, std::vector<std::string>& to) {
    to.clear();
    for (const json& each : value.is_array() ? value : json::array({value})) {
        to.push_back(text_field(name, each));
        if (to.back().empty())
            throw JobError(fmt::format("\"{}\" has an empty string, which would match everywhere", name));
    }
}

void read_value(const RequestField& field, std::string_view name, const json& value,
                std::map<std::int32_t, float>& to) {
    if (!value.is_object())
        throw JobError(
            fmt::format("\"{}\" must be an object of tokens and numbers, not {}", name, value.type_name()));
    to.clear();
    for (const auto& [key, bias] : value.items()) {
        std::int32_t token = -1;
        const auto read = std::from_chars(key.data(), key.data() + key.size(), token);
        if (read.ec != std::errc() || read.ptr != key.data() + key.size() || token < 0)
            throw JobError(fmt::format("\"{}\" has {}, which is not the number of a token", name,
                                       json(key).dump(-1, ' ', false, json::error_handler_t::replace)));
        to[token] =
            static_cast<float>(real_field(fmt::format("{}[{}]", name, token), bias, field.least, field.most));
    }
}

std::string unknown_field(const std::string& name, std::span<const std::string_view> others) {
    std::vector<std::string> names(others.begin(), others.end());
    for (const RequestField& field : kRequestFields) names.emplace_back(field.name);
    return fmt::format("unknown field \"{}\"{}", name, did_you_mean(nearest_word(name, names)));
}

}  // namespace

const RequestField* find_request_field(std::string_view name) {
    for (const RequestField& field : kRequestFields)
        if (field.name == name || (!field.alias.empty() && field.alias == name)) return &field;
    return nullptr;
}

const std::string& text_field(std::string_view name, const json& value) {
    if (!value.is_string())
        throw JobError(fmt::format("\"{}\" must be a string, not {}", name, value.type_name()));
    return value.get_ref<const std::string&>();
}

std::int64_t integer_field(std::string_view name, const json& value, std::int64_t least, std::int64_t most) {
    const bool fits =
        value.is_number_integer() &&
        (!value.is_number_unsigned() ||
         value.get<std::uint64_t>() <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()));
    if (!fits || value.get<std::int64_t>() < least || value.get<std::int64_t>() > most)
        throw JobError(fmt::format("\"{}\" must be a whole number from {} to {}", name, least, most));
    return value.get<std::int64_t>();
}

double real_field(std::string_view name, const json& value, double least, double most) {
    if (!value.is_number() || value.get<double>() < least || value.get<double>() > most)
        throw JobError(fmt::format("\"{}\" must be a number from {} to {}", name, least, most));
    return value.get<double>();
}

bool boolean_field(std::string_view name, const json& value) {
    if (!value.is_boolean())
        throw JobError(fmt::format("\"{}\" must be true or false, not {}", name, value.type_name()));
    return value.get<bool>();
}

void read_request_field(const RequestField& field, std::string_view name, const json& value,
                        RequestSettings& settings) {
    if (value.is_null()) return;
    std::visit([&](auto member) { read_value(field, name, value, value_of(settings, member)); },
               field.member);
}

void read_request(const json& object, RequestSettings& settings, const ReadOther& read_other,
                  std::span<const std::string_view> others) {
    std::set<const RequestField*> seen;
    for (const auto& [name, value] : object.items()) {
        if (read_other(name, value)) continue;
        const RequestField* const field = find_request_field(name);
        if (field == nullptr) throw JobError(unknown_field(name, others));
        if (!seen.insert(field).second)
            throw JobError(
                fmt::format("\"{}\" and \"{}\" mean the same; set one", field->name, field->alias));
        read_request_field(*field, name, value, settings);
    }
}

}  // namespace voltpile::llm
