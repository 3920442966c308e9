// Reads the fields of a request (request_fields.h) from JSON, for lines of prompts and for the HTTP API.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "llm/engine/request_fields.h"

namespace voltpile::llm {

// Reads one field into `settings`; null leaves it as it is. name: as the message calls it. Throws JobError
// that names the field and what it takes.
void read_request_field(const RequestField& field, std::string_view name, const nlohmann::ordered_json& value,
                        RequestSettings& settings);

// Called with each member of an object that is no field of a request. Returns false if the caller does not
// know it either.
using ReadOther = std::function<bool(const std::string& name, const nlohmann::ordered_json& value)>;

// Reads all members of an object in its order: fields of a request into `settings`, others by `read_other`.
// others: their names, for the hint at a misspelling. Throws JobError for an unknown name, for a field that
// occurs under both of its names, and as read_request_field() does.
void read_request(const nlohmann::ordered_json& object, RequestSettings& settings,
                  const ReadOther& read_other, std::span<const std::string_view> others);

// Return a value, or throw JobError: "\"name\" must be ...".
const std::string& text_field(std::string_view name, const nlohmann::ordered_json& value);
std::int64_t integer_field(std::string_view name, const nlohmann::ordered_json& value, std::int64_t least,
                           std::int64_t most);
double real_field(std::string_view name, const nlohmann::ordered_json& value, double least, double most);
bool boolean_field(std::string_view name, const nlohmann::ordered_json& value);

}  // namespace voltpile::llm
