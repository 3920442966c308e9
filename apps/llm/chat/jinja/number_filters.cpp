// Filters that work on numbers.
#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "llm/chat/jinja/filter_table.h"
#include "llm/chat/jinja/interpreter.h"
#include "llm/chat/jinja/operators.h"
#include "llm/chat/jinja/parameters.h"
#include "llm/chat/jinja/python_text.h"

namespace voltpile::llm::jinja {

namespace {

std::string without_underscores_between_digits(std::string_view text) {
    std::string result;
    for (std::size_t i = 0; i < text.size(); ++i)
        if (text[i] != '_' || i == 0 || i + 1 == text.size() || text[i - 1] == '_') result += text[i];
    return result;
}

// Python's int() of a text, for what fits into 64 bits.
std::optional<std::int64_t> parsed_integer(std::string_view text, std::int64_t base) {
    std::string digits = without_underscores_between_digits(stripped(text));
    const bool negative = digits.starts_with('-');
    if (negative || digits.starts_with('+')) digits.erase(0, 1);
    const std::string_view prefixes = base == 16 ? "0x0X" : base == 8 ? "0o0O" : base == 2 ? "0b0B" : "";
    if (digits.size() > 2 && !prefixes.empty() && prefixes.find(digits.substr(0, 2)) % 2 == 0)
        digits.erase(0, 2);
    if (digits.starts_with('-') || digits.starts_with('+') || base < 2 || base > 36) return std::nullopt;
    if (negative) digits.insert(0, "-");
    std::int64_t number = 0;
    const char* const end = digits.data() + digits.size();
    const auto result = std::from_chars(digits.data(), end, number, static_cast<int>(base));
    if (result.ec == std::errc::result_out_of_range)
        throw Problem("int: the number is out of range (64 bits)");
    if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
    return number;
}

// Python's float() of a text.
std::optional<double> parsed_real(std::string_view text) {
    std::string digits = lower(without_underscores_between_digits(stripped(text)));
    if (digits.starts_with('+') && !digits.starts_with("+-")) digits.erase(0, 1);
    double number = 0;
    const char* const end = digits.data() + digits.size();
    const auto result = std::from_chars(digits.data(), end, number);
    if (digits.find('(') != std::string::npos || result.ptr != end || digits.empty()) return std::nullopt;
    if (result.ec == std::errc::result_out_of_range) {
        const bool small =
            digits.find("e-") != std::string::npos || digits.starts_with("0.") || digits.starts_with("-0.");
        number = small ? 0 : std::numeric_limits<double>::infinity();
        return digits.starts_with('-') ? -number : number;
    }
    return number;
}

std::optional<std::int64_t> whole(double number) {
    if (!std::isfinite(number)) return std::nullopt;
    if (!(std::abs(number) < 9.2e18)) throw Problem("int: the number is out of range (64 bits)");
    return static_cast<std::int64_t>(number);
}

Value int_filter(Interpreter& in, const Value& input, const Arguments& arguments) {
    const Parameters given("int", arguments, {"default", "base"});
    require_defined(input);
    const Value otherwise = given.find(0) ? *given.find(0) : Value(0);
    std::optional<std::int64_t> number;
    if (input.is(Kind::Text)) {
        in.spend(input.text().size() * 8);
        number = parsed_integer(input.text(), given.integer(1, 10));
        if (!number)
            if (const auto real = parsed_real(input.text())) number = whole(*real);
    } else if (input.is_integer()) {
        number = input.integer();
    } else if (input.is(Kind::Float)) {
        number = whole(input.real());
    }
    return number ? Value(*number) : otherwise;
}

Value float_filter(Interpreter& in, const Value& input, const Arguments& arguments) {
    const Parameters given("float", arguments, {"default"});
    require_defined(input);
    if (input.is_number()) return input.real();
    if (input.is(Kind::Text)) {
        in.spend(input.text().size() * 8);
        if (const auto number = parsed_real(input.text())) return *number;
    }
    return given.find(0) ? *given.find(0) : Value(0.0);
}

Value abs_filter(Interpreter&, const Value& input, const Arguments& arguments) {
    const Parameters given("abs", arguments, {});
    require_defined(input);
    if (!input.is_number()) throw Problem(fmt::format("abs needs a number, not {}", type_name(input)));
    const bool negative = input.is_integer() ? input.integer() < 0 : std::signbit(input.real());
    if (negative) return negated(input);
    return input.is_integer() ? Value(input.integer()) : input;
}

// Rounds halves to even, exactly, as Python does.
double rounded(double number, int digits) {
    constexpr int kMostDigits = 300;
    if (!std::isfinite(number) || digits > kMostDigits) return number;
    if (digits < 0) {
        const double unit = std::pow(10.0, -digits);
        return std::nearbyint(number / unit) * unit;
    }
    return std::stod(fmt::format("{:.{}f}", number, digits));
}

Value round_filter(Interpreter&, const Value& input, const Arguments& arguments) {
    const Parameters given("round", arguments, {"precision", "method"});
    require_defined(input);
    if (!input.is_number()) throw Problem(fmt::format("round needs a number, not {}", type_name(input)));
    const std::string method = given.find(1) ? given.text(1) : "common";
    const auto digits = static_cast<int>(std::clamp<std::int64_t>(given.integer(0, 0), -400, 400));
    if (method == "common") {
        if (input.is_integer())
            return digits >= 0 ? Value(input.integer()) : Value(*whole(rounded(input.real(), digits)));
        return rounded(input.real(), digits);
    }
    if (method != "ceil" && method != "floor") throw Problem("round: 'method' must be common, ceil or floor");
    const double unit = std::pow(10.0, digits);
    const double scaled = input.real() * unit;
    return (method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / unit;
}

constexpr NamedFilter kNumberFilters[] = {
    {"int", int_filter},
    {"float", float_filter},
    {"abs", abs_filter},
    {"round", round_filter},
};

}  // namespace

std::span<const NamedFilter> number_filters() {
    return kNumberFilters;
}

}  // namespace voltpile::llm::jinja
