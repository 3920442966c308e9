// Values of tokenizer.json with their kinds checked. `where` they are is for the message: all throw JobError
// "where: ...".
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace voltpile::llm {

// Of an object, which must have it.
const nlohmann::json& required(const nlohmann::json& object, std::string_view key, std::string_view where);

const std::string& text_in(const nlohmann::json& value, std::string_view where);
std::int64_t integer_in(const nlohmann::json& value, std::string_view where);

const std::string& required_text(const nlohmann::json& object, std::string_view key, std::string_view where);

// `otherwise` if the key is missing or null.
std::string optional_text(const nlohmann::json& object, std::string_view key, std::string_view otherwise,
                          std::string_view where);
bool optional_bool(const nlohmann::json& object, std::string_view key, bool otherwise,
                   std::string_view where);

}  // namespace voltpile::llm
