#include "llm/model/byte_cursor.h"

#include <fmt/format.h>

#include "base/error.h"

namespace voltpile::llm {

void ByteCursor::fail(const std::string& message) const {
    throw FileError(fmt::format("{}: {} (at byte {})", path_, message, position_), ExitCode::BadInput);
}

void ByteCursor::fail_cut_off(std::string_view what, std::uint64_t count, std::size_t element_bytes) const {
    // count * element_bytes may overflow: a damaged length can be anything.
    const std::string needed = element_bytes == 1 ? fmt::format("{} bytes", count)
                               : count == 1       ? fmt::format("{} bytes", element_bytes)
                                                  : fmt::format("{} x {} bytes", count, element_bytes);
    fail(fmt::format("the file ends inside {}: it needs {} here, but {} remain{}", what, needed, remaining(),
                     remaining() == 1 ? "s" : ""));
}

std::string printable(std::string_view name) {
    constexpr std::size_t kLongest = 80;
    std::string text;
    for (const char c : name.substr(0, kLongest)) text += c >= ' ' && c <= '~' ? c : '?';
    return name.size() > kLongest ? text + "..." : text;
}

}  // namespace voltpile::llm
