#include "llm/chat/jinja/operators.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "llm/chat/jinja/format_text.h"
#include "llm/chat/jinja/interpreter.h"
#include "llm/chat/jinja/python_text.h"

namespace voltpile::llm::jinja {

namespace {

[[noreturn]] void fail_range() {
    throw Problem("a whole number is out of range (64 bits)");
}

[[noreturn]] void fail_zero() {
    throw Problem("division by zero");
}

std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
    if (b == 0) fail_zero();
    if (b == -1) {
        if (a == std::numeric_limits<std::int64_t>::min()) fail_range();
        return -a;
    }
    return a / b - (a % b != 0 && (a % b < 0) != (b < 0) ? 1 : 0);
}

std::int64_t power(std::int64_t base, std::int64_t exponent) {
    std::int64_t result = 1;
    while (exponent > 0) {
        if (exponent % 2 == 1 && __builtin_mul_overflow(result, base, &result)) fail_range();
        exponent /= 2;
        if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) fail_range();
    }
    return result;
}

Value integers(std::string_view sign, std::int64_t a, std::int64_t b) {
    std::int64_t result = 0;
    if (sign == "+") {
        if (__builtin_add_overflow(a, b, &result)) fail_range();
    } else if (sign == "-") {
        if (__builtin_sub_overflow(a, b, &result)) fail_range();
    } else if (sign == "*") {
        if (__builtin_mul_overflow(a, b, &result)) fail_range();
    } else if (sign == "//") {
        result = floor_quotient(a, b);
    } else if (sign == "%") {
        if (b == 0) fail_zero();
        result = b == -1 ? 0 : a - floor_quotient(a, b) * b;
    } else if (sign == "/") {
        if (b == 0) fail_zero();
        return static_cast<double>(a) / static_cast<double>(b);
    } else {
        if (b < 0) {
            if (a == 0) fail_zero();
            return std::pow(static_cast<double>(a), static_cast<double>(b));
        }
        result = power(a, b);
    }
    return result;
}

// Python's remainder has the sign of the divisor.
double remainder_of(double a, double b) {
    const double rest = std::fmod(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

Value reals(std::string_view sign, double a, double b) {
    if (sign == "+") return a + b;
    if (sign == "-") return a - b;
    if (sign == "*") return a * b;
    if (sign == "**") return std::pow(a, b);
    if (b == 0) fail_zero();
    if (sign == "/") return a / b;
    if (sign == "%") return remainder_of(a, b);
    return std::floor((a - remainder_of(a, b)) / b + 0.5);  // the quotient is whole but for rounding
}

Value repeated(Interpreter& in, const Value& value, std::int64_t count) {
    const auto times = static_cast<std::size_t>(std::max<std::int64_t>(count, 0));
    const std::size_t size = value.is(Kind::Text) ? value.text().size() : value.items().size() * kElementCost;
    if (size > 0 && times > kBudget / size) in.spend(kBudget + 1);
    in.spend(size * times);
    if (value.is(Kind::Text)) {
        std::string text;
        if (size > 0)
            for (std::size_t i = 0; i < times; ++i) text += value.text();
        return value.is_safe() ? Value::safe_text(std::move(text)) : Value(std::move(text));
    }
    Values items;
    if (size > 0)
        for (std::size_t i = 0; i < times; ++i)
            items.insert(items.end(), value.items().begin(), value.items().end());
    return Value::list(std::move(items), value.list().form);
}

bool is_repeatable(const Value& value) {
    return value.is(Kind::Text) || (value.is_sequence() && value.list().form != ListForm::Range);
}

Value joined_texts(Interpreter& in, const Value& left, const Value& right) {
    in.spend(left.text().size() + right.text().size());
    if (!left.is_safe() && !right.is_safe()) return left.text() + right.text();
    const auto escaped = [](const Value& each) {
        return each.is_safe() ? each.text() : escaped_html(each.text());
    };
    return Value::safe_text(escaped(left) + escaped(right));
}

}  // namespace

Value computed(Interpreter& in, std::string_view sign, const Value& left, const Value& right) {
    require_defined(left);
    if (sign == "%" && left.is(Kind::Text)) return percent_formatted(in, left, right);
    require_defined(right);
    if (left.is_integer() && right.is_integer()) return integers(sign, left.integer(), right.integer());
    if (left.is_number() && right.is_number()) return reals(sign, left.real(), right.real());
    if (sign == "+" && left.is(Kind::Text) && right.is(Kind::Text)) return joined_texts(in, left, right);
    if (sign == "+" && is_repeatable(left) && is_repeatable(right) && left.kind() == right.kind() &&
        left.list().form == right.list().form) {
        Values items = left.items();
        items.insert(items.end(), right.items().begin(), right.items().end());
        return in.list(std::move(items), left.list().form);
    }
    if (sign == "*" && is_repeatable(left) && right.is_integer()) return repeated(in, left, right.integer());
    if (sign == "*" && is_repeatable(right) && left.is_integer()) return repeated(in, right, left.integer());
    throw Problem(fmt::format("'{}' cannot compute with {} and {}", sign, type_name(left), type_name(right)));
}

Value negated(const Value& value) {
    require_defined(value);
    if (value.is(Kind::Float)) return -value.real();
    if (!value.is_integer()) throw Problem(fmt::format("'-' cannot be applied to {}", type_name(value)));
    if (value.integer() == std::numeric_limits<std::int64_t>::min()) fail_range();
    return -value.integer();
}

}  // namespace voltpile::llm::jinja
