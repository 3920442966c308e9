#include "llm/grammar/regex.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "llm/grammar/pattern_text.h"

namespace voltpile::llm {
namespace {

CodePoints digits() {
    return {'0', '9'};
}
CodePoints word_characters() {
    CodePoints set('a', 'z');
    set.add('A', 'Z');
    set.add('0', '9');
    set.add('_', '_');
    return set;
}
CodePoints white_space() {
    CodePoints set('\t', '\r');
    set.add(' ', ' ');
    return set;
}
// What JavaScript or Python take for white space: \S matches none of these.
CodePoints any_white_space() {
    CodePoints set = white_space();
    for (const auto& [first, last] :
         std::initializer_list<std::pair<std::uint32_t, std::uint32_t>>{{0x1C, 0x1F},
                                                                        {0x85, 0x85},
                                                                        {0xA0, 0xA0},
                                                                        {0x1680, 0x1680},
                                                                        {0x2000, 0x200A},
                                                                        {0x2028, 0x2029},
                                                                        {0x202F, 0x202F},
                                                                        {0x205F, 0x205F},
                                                                        {0x3000, 0x3000},
                                                                        {0xFEFF, 0xFEFF}})
        set.add(first, last);
    return set;
}
CodePoints complement(const CodePoints& of) {
    CodePoints set = CodePoints::all();
    set.remove(of);
    return set;
}
CodePoints all_but_line_ends() {
    CodePoints ends('\n', '\n');
    ends.add('\r', '\r');
    ends.add(0x2028, 0x2029);
    return complement(ends);
}

// One alternative of a pattern, with anchors at its ends taken off.
struct Branch {
    ExpressionPtr body;
    bool from_start = false;
    bool to_end = false;
    bool anchored() const { return from_start || to_end; }
};

class RegexParser {
  public:
    RegexParser(std::string_view pattern, const SpellCharacter& spell)
        : text_(pattern, fmt::format("pattern '{}'", pattern.substr(0, 200))), spell_(spell) {}

    std::vector<Branch> parse() {
        auto branches = parse_branches();
        if (!text_.at_end()) text_.fail("')' has no '('");
        return branches;
    }

  private:
    std::vector<Branch> parse_branches() {
        std::vector<Branch> branches;
        do {
            for (Branch& each : parse_sequence()) branches.push_back(std::move(each));
        } while (text_.take_if('|'));
        return branches;
    }

    // Parses one alternative. It is several ones if it is a group whose alternatives have anchors.
    std::vector<Branch> parse_sequence() {
        Branch branch;
        std::vector<ExpressionPtr> parts;
        std::vector<Branch> group;  // with anchors: must be all there is
        while (!text_.at_end() && text_.peek() != '|' && text_.peek() != ')') {
            if (branch.to_end) text_.fail("'$' is supported only at the end of an alternative");
            if (!group.empty()) text_.fail("'^' and '$' are supported only at the ends of the pattern");
            if (text_.peek() == '^') {
                if (!parts.empty()) text_.fail("'^' is supported only at the beginning of an alternative");
                text_.take();
                branch.from_start = true;
            } else if (text_.take_if('$')) {
                branch.to_end = true;
            } else if (text_.take_if('(')) {
                std::vector<Branch> inner = parse_group();
                bool anchored = false;
                std::vector<ExpressionPtr> bodies;
                for (const Branch& each : inner) {
                    anchored = anchored || each.anchored();
                    bodies.push_back(each.body);
                }
                if (!anchored)
                    parts.push_back(repeated(choice(std::move(bodies))));
                else if (parts.empty() && !branch.from_start)
                    group = std::move(inner);
                else
                    text_.fail("'^' and '$' are supported only at the ends of the pattern");
            } else {
                parts.push_back(repeated(spell_(parse_character())));
            }
        }
        if (!group.empty()) {
            if (branch.to_end) text_.fail("'$' is supported only at the end of an alternative");
            return group;
        }
        branch.body = sequence(std::move(parts));
        return {std::move(branch)};
    }

    // The rest of a group, after '('.
    std::vector<Branch> parse_group() {
        if (++depth_ > kMostGroupDepth)
            text_.fail(fmt::format("more than {} nested groups", kMostGroupDepth));
        if (text_.take_if('?') && !text_.take_if(':')) {
            if (text_.peek() == '=' || text_.peek() == '!' ||
                (text_.peek() == '<' && (text_.peek(1) == '=' || text_.peek(1) == '!')))
                text_.fail("look-around is not supported");
            text_.take_if('P');
            if (!text_.take_if('<')) text_.fail("this kind of group is not supported");
            while (!text_.at_end() && text_.take() != '>') {
            }
        }
        std::vector<Branch> branches = parse_branches();
        if (!text_.take_if(')')) text_.fail("')' is missing");
        --depth_;
        return branches;
    }

    ExpressionPtr repeated(ExpressionPtr part) {
        for (bool again = false;; again = true) {
            int least = 0, most = -1;
            if (text_.take_if('+')) {
                least = 1;
            } else if (text_.take_if('?')) {
                most = 1;
            } else if (!text_.take_if('*')) {
                const auto counts = take_counts();
                if (!counts) return part;
                std::tie(least, most) = *counts;
            }
            if (again) text_.fail("nothing to repeat");
            if (text_.peek() == '+') text_.fail("possessive repeats are not supported");
            text_.take_if('?');  // lazy: matches the same texts
            part = repeat(std::move(part), least, most);
        }
    }

    // Takes {m}, {m,}, {,n} or {m,n}. A '{' that begins none of these is a character.
    std::optional<std::pair<int, int>> take_counts() {
        if (text_.peek() != '{') return std::nullopt;
        std::size_t end = 1;
        bool digit = false;
        while (text_.peek(end) == ',' || (text_.peek(end) >= '0' && text_.peek(end) <= '9'))
            digit = text_.peek(end++) != ',' || digit;
        if (text_.peek(end) != '}' || !digit) return std::nullopt;
        text_.take();
        const auto least = text_.take_number(kMostRepeats);
        std::optional<int> most = least;
        if (text_.take_if(',')) {
            most = text_.take_number(kMostRepeats);
            if (!most) most = -1;
        }
        if (!text_.take_if('}')) text_.fail("a repeat count is {m}, {m,} or {m,n}");
        if (*most >= 0 && *most < least.value_or(0)) text_.fail("the repeat counts are in the wrong order");
        return std::pair(least.value_or(0), *most);
    }

    CodePoints parse_character() {
        const std::uint32_t c = text_.take();
        switch (c) {
            case '.':
                return all_but_line_ends();
            case '[':
                return parse_class();
            case '\\':
                return parse_escape(false);
            case '*':
            case '+':
            case '?':
                text_.fail("nothing to repeat");
            default:
                return {c, c};
        }
    }

    CodePoints parse_class() {
        const bool inverted = text_.take_if('^');
        CodePoints set;
        for (bool first = true; first || text_.peek() != ']'; first = false) {
            if (text_.at_end()) text_.fail("']' is missing");
            if (first && text_.peek() == ']') {
                // JavaScript's empty class, but a ']' within the class for Python.
                text_.fail("write ']' within a class as '\\]'");
            }
            const CodePoints low = class_item();
            if (text_.peek() != '-' || text_.peek(1) == ']' || text_.peek(1) == 0) {
                set.add(low);
                continue;
            }
            text_.take();
            const CodePoints high = class_item();
            if (!single(low) || !single(high)) text_.fail("a range needs a character at each end");
            const std::uint32_t begin = low.ranges()[0].first, end = high.ranges()[0].first;
            if (begin > end) text_.fail(fmt::format("the range {}-{} is empty", shown(begin), shown(end)));
            set.add(begin, end);
        }
        text_.take();
        set.remove({0xD800, 0xDFFF});
        return inverted ? complement(set) : set;
    }

    static bool single(const CodePoints& set) {
        return set.ranges().size() == 1 && set.ranges()[0].first == set.ranges()[0].last;
    }

    CodePoints class_item() {
        if (text_.at_end()) text_.fail("']' is missing");
        const std::uint32_t c = text_.take();
        if (c == '\\') return parse_escape(true);
        return {c, c};
    }

    // The rest of an escape, after the backslash.
    CodePoints parse_escape(bool in_class) {
        if (text_.at_end()) text_.fail("nothing follows the '\\'");
        const std::uint32_t c = text_.take();
        const auto one = [](std::uint32_t code_point) { return CodePoints(code_point, code_point); };
        switch (c) {
            case 'd':
                return digits();
            case 'w':
                return word_characters();
            case 's':
                return white_space();
            case 'D':
                return complement(digits());
            case 'W':
                return complement(word_characters());
            case 'S':
                return complement(any_white_space());
            case 'n':
                return one('\n');
            case 't':
                return one('\t');
            case 'r':
                return one('\r');
            case 'f':
                return one('\f');
            case 'v':
                return one('\v');
            case '0':
                return one(0);
            case 'x':
                return one(text_.take_hex(2));
            case 'u':
                return one(text_.checked(unicode_escape()));
            case 'b':
                if (in_class) return one('\b');
                [[fallthrough]];
            case 'B':
                text_.fail("word boundaries are not supported");
            default:
                break;
        }
        if (c >= '1' && c <= '9') text_.fail("back-references are not supported");
        const std::uint32_t letter = c | 0x20u;
        if (letter >= 'a' && letter <= 'z')
            text_.fail(fmt::format("the escape \\{} is not supported", static_cast<char>(c)));
        return one(c);
    }

    std::uint32_t unicode_escape() {
        if (!text_.take_if('{')) {
            const std::uint32_t first = text_.take_hex(4);
            if (first < 0xD800 || first > 0xDBFF || !text_.take_if("\\u")) return first;
            const std::uint32_t second = text_.take_hex(4);
            if (second < 0xDC00 || second > 0xDFFF) text_.fail("the first half of a surrogate pair is alone");
            return 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
        }
        std::uint32_t value = 0;
        for (int count = 0; !text_.take_if('}'); ++count) {
            if (count == 6) text_.fail("'}' is missing");
            value = value * 16 + text_.take_hex(1);
        }
        return value;
    }

    PatternText text_;
    const SpellCharacter& spell_;
    int depth_ = 0;
};

}  // namespace

ExpressionPtr parse_regex(std::string_view pattern, RegexMatch match, const SpellCharacter& spell) {
    const ExpressionPtr anything = repeat(spell(CodePoints::all()), 0, -1);
    std::vector<ExpressionPtr> choices;
    for (Branch& branch : RegexParser(pattern, spell).parse()) {
        std::vector<ExpressionPtr> parts;
        if (match == RegexMatch::Search && !branch.from_start) parts.push_back(anything);
        parts.push_back(std::move(branch.body));
        if (match == RegexMatch::Search && !branch.to_end) parts.push_back(anything);
        choices.push_back(sequence(std::move(parts)));
    }
    return choice(std::move(choices));
}

}  // namespace voltpile::llm
