// Reads values of tokenizer.json and checks their types. All functions throw JobError "where: ...".
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace voltpile::llm {

// Returns the value of a key, which must exist and not be null.
const nlohmann::json& required(const nlohmann::json& object, std::string_view key, std::string_view where);

const std::string& text_in(const nlohmann::json& value, std::string_view where);
std::int64_t integer_in(const nlohmann::json& value, std::string_view where);

const std::string& required_text(const nlohmann::json& object, std::string_view key, std::string_view where);

// Return `otherwise` if the key is missing or null.
std::string optional_text(const nlohmann::json& object, std::string_view key, std::string_view otherwise,
                          std::string_view where);
bool optional_bool(const nlohmann::json& object, std::string_view key, bool otherwise,
                   std::string_view where);

}  // namespace voltpile::llm
