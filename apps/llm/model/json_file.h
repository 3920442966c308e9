// JSON from files that nobody has checked.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace voltpile::llm {

// The object in `text`. Throws FileError "path: ..." for a syntax error (with its place), for what is not an
// object, for a key that occurs twice in one object and for nesting deeper than `max_depth`.
nlohmann::json parse_json_object(std::string_view text, std::string_view path, int max_depth);

// The same of a file of at most `max_bytes`.
nlohmann::json read_json_object(const std::string& path, std::size_t max_bytes, int max_depth = 32);

}  // namespace voltpile::llm
