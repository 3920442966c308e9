#include "llm/grammar/json_text.h"

#include <algorithm>
#include <string>

#include "llm/grammar/code_points.h"
#include "llm/grammar/integer_range.h"

namespace voltpile::llm {
namespace {

constexpr int most_indentation = 40;

ByteSet bytes_of_text(std::string_view text) {
    ByteSet set;
    for (const char c : text) set.set(static_cast<unsigned char>(c));
    return set;
}

ExpressionPtr one_of(std::string_view text) {
    return bytes_in(bytes_of_text(text));
}

ExpressionPtr hex_digit() {
    return bytes_in(byte_range('0', '9') | byte_range('a', 'f') | byte_range('A', 'F'));
}

// What may follow a backslash.
ExpressionPtr rest_of_escape() {
    const ExpressionPtr hex = hex_digit();
    const ExpressionPtr not_d = bytes_in(byte_range('0', '9') | bytes_of_text("abcefABCEF"));
    const ExpressionPtr high = sequence({one_of("dD"), one_of("89abAB"), hex, hex});
    const ExpressionPtr low = sequence({one_of("dD"), one_of("cdefCDEF"), hex, hex});
    const ExpressionPtr code = choice({sequence({not_d, hex, hex, hex}),
                                       sequence({one_of("dD"), bytes_in(byte_range('0', '7')), hex, hex}),
                                       sequence({high, literal("\\u"), low})});
    return choice({one_of("\"\\/bfnrt"), sequence({literal("u"), code})});
}

CodePoints plain_characters() {
    CodePoints set = CodePoints::all();
    set.remove({0, 0x1F});
    set.remove({'"', '"'});
    set.remove({'\\', '\\'});
    return set;
}

}  // namespace

JsonText::JsonText() {
    space_ = rules_.add(
        "white space",
        choice({literal(" "), sequence({literal("\n"), repeat(one_of(" \t"), 0, most_indentation)})}), true);
    escape_ = rules_.add("escape", rest_of_escape(), true);
    string_ = rules_.add("string", string(0, -1), true);
    value_ = rules_.add("value", nullptr, true);
    object_ = rules_.add("object", nullptr, true);
    rules_.rules[static_cast<std::size_t>(object_)].body = object({}, any_string(), any_value());
    rules_.rules[static_cast<std::size_t>(value_)].body =
        choice({any_object(), array({}, any_value(), 0, -1), any_string(), number(), literal("true"),
                literal("false"), literal("null")});
}

ExpressionPtr JsonText::string(int least, int most) const {
    const ExpressionPtr character =
        choice({utf8(plain_characters()), sequence({literal("\\"), call(escape_)})});
    return sequence({literal("\""), repeat(character, least, most), literal("\"")});
}

ExpressionPtr JsonText::characters(int least, int most) {
    return repeat(in_json_string(CodePoints::all()), least, most);
}

ExpressionPtr JsonText::number() {
    const ExpressionPtr digit = bytes_in(byte_range('0', '9'));
    const ExpressionPtr whole =
        choice({literal("0"), sequence({bytes_in(byte_range('1', '9')), repeat(digit, 0, kMostDigits - 1)})});
    return sequence({optional(literal("-")), whole,
                     optional(sequence({literal("."), repeat(digit, 1, kMostDigits)})),
                     optional(sequence({one_of("eE"), optional(one_of("+-")), repeat(digit, 1, 2)}))});
}

ExpressionPtr JsonText::integer(std::optional<std::int64_t> least, std::optional<std::int64_t> most) {
    return integer_range(least, most);
}

ExpressionPtr JsonText::shared(std::string_view name, ExpressionPtr expression) {
    return call(rules_.add(std::string(name), std::move(expression)));
}

ExpressionPtr JsonText::member(const ExpressionPtr& key, const ExpressionPtr& value) const {
    return sequence({key, literal(":"), space(), value});
}

ExpressionPtr JsonText::object(const std::vector<JsonProperty>& properties, const ExpressionPtr& others_key,
                               const ExpressionPtr& others_value) {
    const ExpressionPtr comma = sequence({literal(","), space()});
    ExpressionPtr others_after = sequence({}), others_first = sequence({});
    if (others_key) {
        const ExpressionPtr other = shared("member", member(others_key, others_value));
        others_after = repeat(sequence({comma, other}), 0, -1);
        others_first = optional(sequence({other, others_after}));
    }
    // From the last property to the first: what may follow if there is a member before, or none.
    ExpressionPtr after = others_after, first = others_first;
    for (auto each = properties.rbegin(); each != properties.rend(); ++each) {
        const bool before_required =
            std::any_of(each + 1, properties.rend(), [](const JsonProperty& p) { return p.required; });
        const ExpressionPtr one = shared("member", member(each->key, each->value));
        const ExpressionPtr next = sequence({comma, one});
        // A rule for the rest, where it is used twice.
        const ExpressionPtr rest = before_required ? after : shared("members", after);
        const ExpressionPtr with = sequence({one, rest});
        if (!before_required) first = each->required ? with : choice({with, first});
        after = sequence({each->required ? next : optional(next), rest});
    }
    return sequence({literal("{"), space(), first, space(), literal("}")});
}

ExpressionPtr JsonText::array(const std::vector<ExpressionPtr>& first, const ExpressionPtr& item, int least,
                              int most) {
    const ExpressionPtr comma = sequence({literal(","), space()});
    const auto leading = static_cast<int>(first.size());
    const ExpressionPtr open = sequence({literal("["), space()}), close = sequence({space(), literal("]")});
    if (most == 0) return sequence({open, close});
    // The items after the leading ones, each with its comma.
    ExpressionPtr rest = sequence({});
    ExpressionPtr one = item ? shared("item", item) : nullptr;
    if (item && (most < 0 || most > leading)) {
        const int of_rest = std::max(0, least - std::max(leading, 1));
        rest = repeat(sequence({comma, one}), of_rest, most < 0 ? -1 : most - std::max(leading, 1));
    } else if (least > leading) {
        rest = choice({});  // cannot be
    }
    if (leading == 0) {
        if (!item) return least > 0 ? choice({}) : sequence({open, close});
        const ExpressionPtr items = sequence({one, rest});
        return sequence({open, least > 0 ? items : optional(items), close});
    }
    for (int i = leading - 1; i >= 0; --i) {
        const ExpressionPtr& value = first[static_cast<std::size_t>(i)];
        if (most >= 0 && i >= most) {
            rest = sequence({});
            continue;
        }
        rest = sequence({i > 0 ? sequence({comma, value}) : value, rest});
        if (i >= least) rest = optional(rest);
    }
    return sequence({open, rest, close});
}

}  // namespace voltpile::llm
