#include "llm/grammar/string_format.h"

#include <fmt/format.h>

namespace voltpile::llm {
namespace {

// Dates of the Gregorian calendar from the year 1 to 9999, with February 29 in leap years only.
std::string date_pattern() {
    const std::string year = R"((?:[1-9]\d{3}|0[1-9]\d{2}|00[1-9]\d|000[1-9]))";
    const std::string leap_year =
        R"((?:\d\d(?:0[48]|[2468][048]|[13579][26])|(?:0[48]|[2468][048]|[13579][26])00))";
    const std::string day =
        R"((?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)|02-(?:0[1-9]|1\d|2[0-8])))";
    return fmt::format("(?:{}-{}|{}-02-29)", year, day, leap_year);
}

// RFC 3339 without leap seconds.
std::string time_pattern() {
    const std::string clock = R"((?:[01]\d|2[0-3]):[0-5]\d)";
    return fmt::format(R"({}:[0-5]\d(?:\.\d{{1,9}})?(?:Z|[+-]{}))", clock, clock);
}

// ISO 8601, as in RFC 3339, appendix A: weeks, or some of years to days and hours to seconds.
std::string duration_pattern() {
    const auto number = [](char unit) { return fmt::format(R"(\d{{1,9}}{})", unit); };
    const auto chain = [&](std::string_view units) {
        // From one unit to a later one, each in between.
        std::string all;
        for (std::size_t begin = 0; begin < units.size(); ++begin) {
            std::string optional_rest;
            for (std::size_t i = units.size(); i-- > begin + 1;)
                optional_rest = fmt::format("(?:{}{})?", number(units[i]), optional_rest);
            all += (begin > 0 ? "|" : "") + number(units[begin]) + optional_rest;
        }
        return fmt::format("(?:{})", all);
    };
    const std::string date = chain("YMD"), time = "T" + chain("HMS");
    return fmt::format("P(?:{}(?:{})?|{}|{})", date, time, time, number('W'));
}

}  // namespace

std::optional<std::string> pattern_of_format(std::string_view format) {
    const std::string label = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?";
    if (format == "date") return date_pattern();
    if (format == "time") return time_pattern();
    if (format == "date-time") return date_pattern() + "T" + time_pattern();
    if (format == "duration") return duration_pattern();
    if (format == "uuid") return "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";
    if (format == "hostname") return fmt::format(R"({}(?:\.{}){{0,2}})", label, label);
    if (format == "email")
        return fmt::format(
            R"([A-Za-z0-9_+-]{{1,32}}(?:\.[A-Za-z0-9_+-]{{1,31}})?@{}(?:\.{}){{0,2}}\.[A-Za-z]{{2,24}})",
            label, label);
    if (format == "ipv4") {
        const std::string octet = R"((?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d))";
        return fmt::format(R"({}(?:\.{}){{3}})", octet, octet);
    }
    return std::nullopt;
}

}  // namespace voltpile::llm
