// Filters that work on texts.
#include <fmt/format.h>

#include <algorithm>

#include "llm/chat/jinja/filter_table.h"
#include "llm/chat/jinja/format_text.h"
#include "llm/chat/jinja/interpreter.h"
#include "llm/chat/jinja/json_text.h"
#include "llm/chat/jinja/parameters.h"
#include "llm/chat/jinja/print.h"
#include "llm/chat/jinja/python_text.h"

namespace voltpile::llm::jinja {

namespace {

// The input as a text, which is as safe as the input.
Value as_text(Interpreter& in, const Value& input) {
    return input.is(Kind::Text) ? input : in.text(printed(in, input));
}

Value same_kind(Interpreter& in, const Value& like, std::string text) {
    in.spend(text.size());
    return like.is_safe() ? Value::safe_text(std::move(text)) : Value(std::move(text));
}

template <auto convert>
Value case_filter(Interpreter& in, const Value& input, const Arguments& arguments) {
    const Parameters given("upper, lower or capitalize", arguments, {});
    const Value text = as_text(in, input);
    in.spend(text.text().size() * 8);
    return same_kind(in, text, convert(text.text()));
}

// Unlike the method, it begins words only after white space and brackets.
std::string jinja_title(std::string_view text) {
    constexpr std::string_view kBefore = "-([{<";
    std::string result;
    bool begins = true;
    for (const std::string_view character : characters(text)) {
        result += begins ? upper(character) : lower(character);
        begins = kBefore.find(character) != std::string_view::npos || stripped(character).empty();
    }
    return result;
}

Value trim_filter(Interpreter& in, const Value& input, const Arguments& arguments) {
    const Parameters given("trim", arguments, {"chars"});
    const Value text = as_text(in, input);
    const auto which = given.optional_text(0);
    in.spend(text.text().size() * (1 + (which ? which->size() : 0)));
    return same_kind(in, text, std::string(stripped(text.text(), which)));
}

Value replace_filter(Interpreter& in, const Value& input, const Arguments& arguments) {
    const Parameters given("replace", arguments, {"old", "new", "count"});
    const Value text = as_text(in, input);
    const std::string old = printed(in, given.required(0)), with = printed(in, given.required(1));
    const bool all = !given.find(2) || given.find(2)->is(Kind::None);
    const auto charge = [&](std::size_t bytes) { in.spend(bytes + text.text().size() * 4); };
    return replaced(text.text(), old, with, all ? -1 : given.integer(2, -1), charge);
}

Value indent_filter(Interpreter& in, const Value& input, const Arguments& arguments) {
    const Parameters given("indent", arguments, {"width", "first", "blank"});
    require_defined(input);
    if (!input.is(Kind::Text)) throw Problem(fmt::format("indent needs a text, not {}", type_name(input)));
    constexpr std::int64_t kMostWidth = 100'000;
    const bool text_width = given.find(0) && given.find(0)->is(Kind::Text);
    const std::int64_t width = text_width ? 0 : given.integer(0, 4);
    if (width > kMostWidth) throw Problem("indent: the width is too large");
    const std::string margin =
        text_width ? given.text(0)
                   : std::string(static_cast<std::size_t>(std::max<std::int64_t>(width, 0)), ' ');
    const bool blank = given.truth(2, false);
    const std::string whole = input.text() + "\n";
    in.spend(whole.size() * 4);
    std::string result = given.truth(1, false) ? margin : "";
    bool first = true;
    for (const std::string_view line : split_lines(whole)) {
        in.spend(line.size() + margin.size());
        if (!first) result += '\n';
        if (!first && (blank || !line.empty())) result += margin;
        result.append(line);
        first = false;
    }
    return same_kind(in, input, std::move(result));
}

Value string_filter(Interpreter& in, const Value& input, const Arguments& arguments) {
    const Parameters given("string", arguments, {});
    return as_text(in, input);
}

Value safe_filter(Interpreter& in, const Value& input, const Arguments& arguments) {
    const Parameters given("safe", arguments, {});
    std::string text = printed(in, input);
    in.spend(text.size());
    return Value::safe_text(std::move(text));
}

Value escape_filter(Interpreter& in, const Value& input, const Arguments& arguments) {
    const Parameters given("escape", arguments, {});
    if (input.is_safe()) return input;
    const std::string text = printed(in, input);
    in.spend(text.size() * 6);
    return Value::safe_text(escaped_html(text));
}

Value forceescape_filter(Interpreter& in, const Value& input, const Arguments& arguments) {
    const Parameters given("forceescape", arguments, {});
    const std::string text = printed(in, input);
    in.spend(text.size() * 6);
    return Value::safe_text(escaped_html(text));
}

Value format_filter(Interpreter& in, const Value& input, const Arguments& arguments) {
    const Value text = as_text(in, input);
    if (arguments.named.empty())
        return percent_formatted(in, text, in.list(arguments.positional, ListForm::Tuple));
    if (!arguments.positional.empty())
        throw Problem("format takes arguments with names or without, not both");
    Entries entries;
    for (const auto& [name, value] : arguments.named) entries.emplace_back(name, value);
    return percent_formatted(in, text, in.map(std::move(entries)));
}

Value truncate_filter(Interpreter& in, const Value& input, const Arguments& arguments) {
    const Parameters given("truncate", arguments, {"length", "killwords", "end", "leeway"});
    const Value text = as_text(in, input);
    const std::string end = given.find(2) ? given.text(2) : "...";
    const std::int64_t length = given.integer(0, 255);
    const std::int64_t leeway = given.find(3) && !given.find(3)->is(Kind::None) ? given.integer(3, 5) : 5;
    const auto room = length - static_cast<std::int64_t>(character_count(end));
    if (room < 0 || leeway < 0) throw Problem("truncate: the length or the leeway is too small");
    in.spend(text.text().size() * 8);
    const auto all = characters(text.text());
    if (std::ssize(all) <= length || std::ssize(all) - length <= leeway) return text;
    std::string_view kept = text.text();
    kept = kept.substr(0, static_cast<std::size_t>(all[static_cast<std::size_t>(room)].data() - kept.data()));
    if (!given.truth(1, false)) kept = split_from_right(kept, " ", 1).front();
    return in.text(std::string(kept) + end);
}

Value center_filter(Interpreter& in, const Value& input, const Arguments& arguments) {
    const Parameters given("center", arguments, {"width"});
    const Value text = as_text(in, input);
    const std::int64_t width = given.integer(0, 80), length = std::ssize(characters(text.text()));
    if (width <= length) return text;
    in.spend(static_cast<std::size_t>(width - length));
    const std::int64_t missing = width - length;
    const std::int64_t left = missing / 2 + (missing & width & 1);  // as str.center()
    return std::string(static_cast<std::size_t>(left), ' ') + text.text() +
           std::string(static_cast<std::size_t>(missing - left), ' ');
}

Value wordcount_filter(Interpreter& in, const Value& input, const Arguments& arguments) {
    const Parameters given("wordcount", arguments, {});
    const Value text = as_text(in, input);
    in.spend(text.text().size() * 4);
    std::int64_t words = 0;
    bool inside = false;
    for (const char c : text.text()) {
        const bool letter = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || (c & 0x80) != 0;
        if (letter && !inside) ++words;
        inside = letter;
    }
    return words;
}

Value tojson_filter(Interpreter& in, const Value& input, const Arguments& arguments) {
    const Parameters given("tojson", arguments, {"ensure_ascii", "indent", "separators", "sort_keys"});
    JsonStyle style;
    style.ascii_only = given.truth(0, false);
    style.sorted_keys = given.truth(3, false);
    if (given.find(1) && !given.find(1)->is(Kind::None)) {
        constexpr std::int64_t kMostIndent = 1000;
        const bool is_text = given.find(1)->is(Kind::Text);
        const std::int64_t width = is_text ? 0 : std::max<std::int64_t>(given.integer(1, 0), 0);
        if (width > kMostIndent) throw Problem("tojson: the indent is too large");
        style.indent = is_text ? given.text(1) : std::string(static_cast<std::size_t>(width), ' ');
        style.item_separator = ",";
    }
    if (given.find(2) && !given.find(2)->is(Kind::None)) {
        const Values separators = in.elements(*given.find(2));
        if (separators.size() != 2 || !separators[0].is(Kind::Text) || !separators[1].is(Kind::Text))
            throw Problem("tojson: 'separators' must be two texts");
        style.item_separator = separators[0].text();
        style.key_separator = separators[1].text();
    }
    return json_text(in, input, style);
}

constexpr NamedFilter kTextFilters[] = {
    {"upper", case_filter<upper>},
    {"lower", case_filter<lower>},
    {"capitalize", case_filter<capitalized>},
    {"title", case_filter<jinja_title>},
    {"trim", trim_filter},
    {"replace", replace_filter},
    {"indent", indent_filter},
    {"string", string_filter},
    {"safe", safe_filter},
    {"escape", escape_filter},
    {"e", escape_filter},
    {"forceescape", forceescape_filter},
    {"format", format_filter},
    {"truncate", truncate_filter},
    {"center", center_filter},
    {"wordcount", wordcount_filter},
    {"tojson", tojson_filter},
};

}  // namespace

std::span<const NamedFilter> text_filters() {
    return kTextFilters;
}

}  // namespace voltpile::llm::jinja
