#include "llm/chat/jinja/format_spec.h"

#include <fmt/format.h>

#include <cmath>

#include "llm/chat/jinja/interpreter.h"
#include "llm/chat/jinja/print.h"
#include "llm/chat/jinja/python_text.h"

namespace voltpile::llm::jinja {

namespace {

std::string with_commas(std::string digits) {
    const std::size_t whole = std::min(digits.find_first_not_of("0123456789"), digits.size());
    for (std::size_t at = whole; at > 3; at -= 3) digits.insert(at - 3, ",");
    return digits;
}

// The digits of a number without its sign.
std::string digits_of(const Value& value, const FormatSpec& spec) {
    const auto magnitude = [](std::int64_t number) {
        return number < 0 ? 0 - static_cast<std::uint64_t>(number) : static_cast<std::uint64_t>(number);
    };
    const int precision = static_cast<int>(spec.precision.value_or(6));
    const double size = std::abs(value.real());
    switch (spec.type) {
        case 'd':
        case 'i':
        case 'u': {
            if (value.is_integer()) return fmt::format("{}", magnitude(value.integer()));
            if (!(size < 9e18)) throw Problem("a number is too large to be formatted as a whole one");
            return fmt::format("{}", magnitude(static_cast<std::int64_t>(value.real())));
        }
        case 'x':
            return fmt::format("{}{:x}", spec.alternate ? "0x" : "", magnitude(value.integer()));
        case 'X':
            return fmt::format("{}{:X}", spec.alternate ? "0X" : "", magnitude(value.integer()));
        case 'o':
            return fmt::format("{}{:o}", spec.alternate ? "0o" : "", magnitude(value.integer()));
        case 'b':
            return fmt::format("{}{:b}", spec.alternate ? "0b" : "", magnitude(value.integer()));
        case 'f':
        case 'F':
            return fmt::format("{:.{}f}", size, precision);
        case 'e':
            return fmt::format("{:.{}e}", size, precision);
        case 'E':
            return fmt::format("{:.{}E}", size, precision);
        case 'g':
            return fmt::format("{:.{}g}", size, precision);
        case 'G':
            return fmt::format("{:.{}G}", size, precision);
        case '%':
            return fmt::format("{:.{}f}%", size * 100, precision);
        case 0:
            if (value.is_integer()) return fmt::format("{}", magnitude(value.integer()));
            if (spec.precision) return fmt::format("{:.{}g}", size, precision);
            return printed_real(size);
        default:
            throw Problem(fmt::format("unknown format '{}' for a number", spec.type));
    }
}

}  // namespace

std::string formatted_number(const Value& value, const FormatSpec& spec) {
    if (!value.is_number()) throw Problem(fmt::format("a number is needed, not {}", type_name(value)));
    const bool of_integers =
        std::string_view("xXob").find(spec.type) != std::string_view::npos && spec.type != 0;
    if (of_integers && !value.is_integer()) throw Problem("a whole number is needed, not a float");
    const bool negative = value.is_integer() ? value.integer() < 0 : std::signbit(value.real());
    std::string digits = digits_of(value, spec);
    if (spec.commas) digits = with_commas(std::move(digits));
    return (negative ? "-" : spec.plus ? "+" : spec.space ? " " : "") + digits;
}

std::string cut(const std::string& text, const FormatSpec& spec) {
    if (!spec.precision) return text;
    const auto all = characters(text);
    if (std::ssize(all) <= *spec.precision) return text;
    return text.substr(
        0, static_cast<std::size_t>(all[static_cast<std::size_t>(*spec.precision)].data() - text.data()));
}

std::string padded(Interpreter& in, const std::string& text, const FormatSpec& spec, char default_align) {
    const auto length = static_cast<std::int64_t>(character_count(text));
    if (spec.width <= length) return text;
    const auto missing = static_cast<std::size_t>(spec.width - length);
    in.spend(missing * spec.fill.size());
    const auto fill = [&](std::size_t count) {
        std::string filling;
        for (std::size_t i = 0; i < count; ++i) filling += spec.fill;
        return filling;
    };
    switch (spec.align ? spec.align : default_align) {
        case '<':
            return text + fill(missing);
        case '^':
            return fill(missing / 2) + text + fill(missing - missing / 2);
        case '=': {
            const bool sign =
                !text.empty() && std::string_view("+- ").find(text.front()) != std::string_view::npos;
            return text.substr(0, sign ? 1 : 0) + fill(missing) + text.substr(sign ? 1 : 0);
        }
        default:
            return fill(missing) + text;
    }
}

void check_size(std::int64_t size) {
    if (size > 100'000) throw Problem("a width or precision is too large");
}

}  // namespace voltpile::llm::jinja
