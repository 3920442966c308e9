// Parses JSON from untrusted files.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace voltpile::llm {

// What is known of a JSON text while it is parsed.
struct JsonProgress {
    int depth = 0;  // of nesting
    // The first key that occurs twice in one object, which then has both members.
    const std::optional<std::string>& duplicate;
};

// Parses `text`, with the keys of objects in their order, and calls `check` at each object, array, key and
// value. Takes time in proportion to the text. Throws nlohmann::json::exception, and whatever `check` throws.
nlohmann::ordered_json parse_checked_json(std::string_view text,
                                          const std::function<void(const JsonProgress&)>& check);

// Returns the object in `text`. Throws FileError "path: ..." for a syntax error (with its place), for
// anything but an object, for a key that occurs twice in one object and for nesting deeper than `max_depth`.
nlohmann::json parse_json_object(std::string_view text, std::string_view path, int max_depth);

// The same for a file of at most `max_bytes`.
nlohmann::json read_json_object(const std::string& path, std::size_t max_bytes, int max_depth = 32);

}  // namespace voltpile::llm
