#include "llm/grammar/integer_range.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace voltpile::llm {
namespace {

constexpr std::uint64_t largest_number = 999'999'999'999'999;  // kMostDigits nines

ExpressionPtr digits_between(char low, char high) {
    return bytes_in(byte_range(static_cast<unsigned char>(low), static_cast<unsigned char>(high)));
}

// The texts from `low` to `high`, which have the same number of digits.
ExpressionPtr same_digits(std::string_view low, std::string_view high) {
    if (low.empty()) return sequence({});
    const auto all = [](std::string_view digits, char digit) {
        return digits.find_first_not_of(digit) == digits.npos;
    };
    const auto rest = static_cast<int>(low.size()) - 1;
    const std::string_view low_rest = low.substr(1), high_rest = high.substr(1);
    if (low[0] == high[0])
        return sequence({digits_between(low[0], low[0]), same_digits(low_rest, high_rest)});
    std::vector<ExpressionPtr> choices;
    char first = low[0], last = high[0];
    if (!all(low_rest, '0')) {
        choices.push_back(sequence(
            {digits_between(first, first), same_digits(low_rest, std::string(low_rest.size(), '9'))}));
        ++first;
    }
    if (!all(high_rest, '9')) {
        choices.push_back(sequence(
            {digits_between(last, last), same_digits(std::string(high_rest.size(), '0'), high_rest)}));
        --last;
    }
    if (first <= last)
        choices.push_back(
            sequence({digits_between(first, last), repeat(digits_between('0', '9'), rest, rest)}));
    return choice(std::move(choices));
}

// Numbers that are not negative.
ExpressionPtr natural_range(std::uint64_t least, std::uint64_t most) {
    std::vector<ExpressionPtr> choices;
    std::uint64_t begin = 0, end = 9;  // of one more digit each time
    for (int digits = 1; digits <= kMostDigits; ++digits) {
        const std::uint64_t low = std::max(begin, least), high = std::min(end, most);
        if (low <= high) choices.push_back(same_digits(fmt::format("{}", low), fmt::format("{}", high)));
        begin = end + 1;
        end = end * 10 + 9;
    }
    return choice(std::move(choices));
}

}  // namespace

ExpressionPtr integer_range(std::optional<std::int64_t> least, std::optional<std::int64_t> most) {
    const auto limit = static_cast<std::int64_t>(largest_number);
    const std::int64_t low = std::max(least.value_or(-limit), -limit),
                       high = std::min(most.value_or(limit), limit);
    std::vector<ExpressionPtr> choices;
    if (low <= high && high >= 0)
        choices.push_back(natural_range(static_cast<std::uint64_t>(std::max<std::int64_t>(low, 0)),
                                        static_cast<std::uint64_t>(high)));
    if (low <= high && low < 0)
        choices.push_back(sequence(
            {literal("-"), natural_range(static_cast<std::uint64_t>(std::max<std::int64_t>(-high, 1)),
                                         static_cast<std::uint64_t>(-low))}));
    return choice(std::move(choices));
}

}  // namespace voltpile::llm
