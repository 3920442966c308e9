#include "llm/model/byte_cursor.h"

#include <fmt/format.h>

#include "base/error.h"

namespace voltpile::llm {

void ByteCursor::fail(const std::string& message) const {
    throw FileError(fmt::format("{}: {} (at byte {})", path_, message, position_), ExitCode::BadInput);
}

void ByteCursor::fail_cut_off(std::string_view what, std::uint64_t count, std::size_t element_bytes) const {
    fail(element_bytes == 1 || count > 1
             ? fmt::format("{} should have {} {}, but the file ends {} bytes further on", what, count,
                           element_bytes == 1 ? "bytes" : "elements", remaining())
             : fmt::format("the file ends within {}", what));
}

std::string printable(std::string_view name) {
    constexpr std::size_t kLongest = 80;
    std::string text;
    for (const char c : name.substr(0, kLongest)) text += c >= ' ' && c <= '~' ? c : '?';
    return name.size() > kLongest ? text + "..." : text;
}

}  // namespace voltpile::llm
