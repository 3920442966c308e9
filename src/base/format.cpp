#include "base/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace voltpile {

std::string bytes_text(double bytes) {
    static constexpr std::array<const char*, 6> units{"B", "kB", "MB", "GB", "TB", "PB"};
    std::size_t unit = 0;
    while (bytes >= 999.5 && unit + 1 < units.size()) {
        bytes /= 1000;
        ++unit;
    }
    return fmt::format("{:.{}f} {}", bytes, unit == 0 || bytes >= 99.95 ? 0 : 1, units[unit]);
}

std::string duration_text(double seconds) {
    if (!std::isfinite(seconds)) return "unknown";
    if (seconds < 9.95) return fmt::format("{:.2f} s", seconds);
    if (seconds < 119.5) return fmt::format("{:.0f} s", seconds);
    const auto whole = static_cast<std::int64_t>(std::min(std::round(seconds), 9e18));
    if (whole < 7200) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
    if (whole < 48 * 3600) return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
    return fmt::format("{} d {:02} h", whole / 86400, whole / 3600 % 24);
}

std::string count_text(std::int64_t number) {
    std::string digits = std::to_string(number);
    const std::size_t first = number < 0 ? 1 : 0;
    for (std::size_t at = digits.size(); at > first + 3;) digits.insert(at -= 3, ",");
    return digits;
}

}  // namespace voltpile
