#include "llm/tokenizer/checked_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace voltpile::llm {

using nlohmann::json;

namespace {

// Returns nullptr if the key is missing or null.
const json* find(const json& object, std::string_view key, std::string_view where) {
    if (!object.is_object()) throw JobError(fmt::format("{} is not an object", where));
    const auto found = object.find(key);
    return found == object.end() || found->is_null() ? nullptr : &*found;
}

std::string place(std::string_view where, std::string_view key) {
    return fmt::format("{}: \"{}\"", where, key);
}

}  // namespace

const json& required(const json& object, std::string_view key, std::string_view where) {
    const json* const value = find(object, key, where);
    if (value == nullptr) throw JobError(place(where, key) + " is missing");
    return *value;
}

const std::string& text_in(const json& value, std::string_view where) {
    if (!value.is_string()) throw JobError(fmt::format("{} is not a text", where));
    return value.get_ref<const std::string&>();
}

std::int64_t integer_in(const json& value, std::string_view where) {
    if (!value.is_number_integer()) throw JobError(fmt::format("{} is not a whole number", where));
    return value.get<std::int64_t>();
}

const std::string& required_text(const json& object, std::string_view key, std::string_view where) {
    return text_in(required(object, key, where), place(where, key));
}

std::string optional_text(const json& object, std::string_view key, std::string_view otherwise,
                          std::string_view where) {
    const json* const value = find(object, key, where);
    return value == nullptr ? std::string(otherwise) : text_in(*value, place(where, key));
}

bool optional_bool(const json& object, std::string_view key, bool otherwise, std::string_view where) {
    const json* const value = find(object, key, where);
    if (value == nullptr) return otherwise;
    if (!value->is_boolean()) throw JobError(place(where, key) + " is not true or false");
    return value->get<bool>();
}

}  // namespace voltpile::llm
