#include "llm/grammar/code_points.h"

#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <map>

#include "llm/tokenizer/utf8.h"

namespace voltpile::llm {
namespace {

constexpr std::uint32_t last_code_point = 0x10FFFF;

// The bytes of a code point, to_utf8() as numbers.
std::vector<unsigned> utf8_bytes(std::uint32_t code_point) {
    std::vector<unsigned> bytes;
    for (const char c : to_utf8(code_point)) bytes.push_back(static_cast<unsigned char>(c));
    return bytes;
}

struct ByteRange {
    unsigned first, last;
    auto operator<=>(const ByteRange&) const = default;
};
using ByteRanges = std::vector<ByteRange>;  // one for each byte of a character

// Adds the byte ranges of code points whose UTF-8 has the same length.
void add_same_length(std::uint32_t first, std::uint32_t last, std::vector<ByteRanges>& all) {
    // Split until all bytes but one are the same, or can be any.
    for (unsigned bits = 6; bits <= 18; bits += 6) {
        const std::uint32_t low = (1u << bits) - 1;
        if ((first & ~low) == (last & ~low)) break;
        if ((first & low) != 0) {
            add_same_length(first, first | low, all);
            add_same_length((first | low) + 1, last, all);
            return;
        }
        if ((last & low) != low) {
            add_same_length(first, (last & ~low) - 1, all);
            add_same_length(last & ~low, last, all);
            return;
        }
    }
    const std::vector<unsigned> begin = utf8_bytes(first), end = utf8_bytes(last);
    ByteRanges& ranges = all.emplace_back();
    for (std::size_t i = 0; i < begin.size(); ++i) ranges.push_back({begin[i], end[i]});
}

// The choice of all, with common ends written once, so that they become the same states.
ExpressionPtr by_last_byte(const std::vector<ByteRanges>& all) {
    ByteSet single;
    std::map<ByteRange, std::vector<ByteRanges>> longer;
    for (const ByteRanges& each : all) {
        if (each.size() == 1)
            single |= byte_range(each[0].first, each[0].last);
        else
            longer[each.back()].emplace_back(each.begin(), each.end() - 1);
    }
    std::vector<ExpressionPtr> choices;
    if (single.any()) choices.push_back(bytes_in(single));
    for (const auto& [last, before] : longer)
        choices.push_back(sequence({by_last_byte(before), bytes_in(byte_range(last.first, last.last))}));
    return choice(std::move(choices));
}

std::string json_escape(std::uint32_t code_point) {
    switch (code_point) {
        case '"':
            return "\\\"";
        case '\\':
            return "\\\\";
        case '\b':
            return "\\b";
        case '\f':
            return "\\f";
        case '\n':
            return "\\n";
        case '\r':
            return "\\r";
        case '\t':
            return "\\t";
        default:
            return fmt::format("\\u{:04x}", code_point);
    }
}

CodePoints escaped_in_json() {
    CodePoints set(0, 0x1F);
    set.add('"', '"');
    set.add('\\', '\\');
    return set;
}

}  // namespace

CodePoints CodePoints::all() {
    CodePoints set(0, 0xD7FF);
    set.add(0xE000, last_code_point);
    return set;
}

void CodePoints::add(std::uint32_t first, std::uint32_t last) {
    ranges_.push_back({first, last});
    std::ranges::sort(ranges_, {}, &Range::first);
    std::vector<Range> joined;
    for (const Range& each : ranges_) {
        if (!joined.empty() && each.first <= joined.back().last + 1)
            joined.back().last = std::max(joined.back().last, each.last);
        else
            joined.push_back(each);
    }
    ranges_ = std::move(joined);
}

void CodePoints::add(const CodePoints& others) {
    for (const Range& each : others.ranges_) add(each.first, each.last);
}

void CodePoints::remove(const CodePoints& others) {
    for (const Range& gone : others.ranges_) {
        std::vector<Range> left;
        for (const Range& each : ranges_) {
            if (each.first < gone.first) left.push_back({each.first, std::min(each.last, gone.first - 1)});
            if (each.last > gone.last) left.push_back({std::max(each.first, gone.last + 1), each.last});
        }
        ranges_ = std::move(left);
    }
}

bool CodePoints::contains(std::uint32_t code_point) const {
    return std::ranges::any_of(
        ranges_, [&](const Range& each) { return each.first <= code_point && code_point <= each.last; });
}

ExpressionPtr utf8(const CodePoints& set) {
    std::vector<ByteRanges> all;
    constexpr std::uint32_t length_ends[] = {0x7F, 0x7FF, 0xFFFF, last_code_point};
    for (const CodePoints::Range& range : set.ranges()) {
        std::uint32_t first = range.first;
        for (const std::uint32_t end : length_ends) {
            if (first > end || first > range.last) continue;
            const std::uint32_t last = std::min(range.last, end);
            add_same_length(first, last, all);
            first = last + 1;
        }
    }
    return by_last_byte(all);
}

ExpressionPtr in_json_string(const CodePoints& set) {
    const CodePoints escaped = escaped_in_json();
    CodePoints plain = set;
    plain.remove(escaped);
    std::vector<ExpressionPtr> choices{utf8(plain)};
    for (const CodePoints::Range& range : escaped.ranges())
        for (std::uint32_t c = range.first; c <= range.last; ++c)
            if (set.contains(c)) choices.push_back(literal(json_escape(c)));
    return choice(std::move(choices));
}

ExpressionPtr json_string(std::string_view text) {
    const CodePoints escaped = escaped_in_json();
    std::string spelled = "\"";
    while (!text.empty()) {
        const Utf8Character next = first_character(text);
        if (escaped.contains(next.code_point))
            spelled += json_escape(next.code_point);
        else
            spelled += text.substr(0, next.bytes);
        text.remove_prefix(next.bytes);
    }
    return literal(spelled + "\"");
}

}  // namespace voltpile::llm
