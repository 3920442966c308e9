// The values of "format" in JSON schemas: date, time, date-time, duration, uuid, email, hostname and ipv4.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace voltpile::llm {

// Returns a pattern (regex.h) that whole strings of a format match; nothing for formats not supported.
std::optional<std::string> pattern_of_format(std::string_view format);

}  // namespace voltpile::llm
