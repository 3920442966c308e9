// The methods of texts.
#include <fmt/format.h>

#include <algorithm>

#include "llm/chat/jinja/access.h"
#include "llm/chat/jinja/format_text.h"
#include "llm/chat/jinja/interpreter.h"
#include "llm/chat/jinja/parameters.h"
#include "llm/chat/jinja/python_text.h"

namespace voltpile::llm::jinja {

namespace {

using Method = Value (*)(Interpreter& in, const Value& self, const Arguments& arguments);

// A text that is as safe as the one it comes from.
Value like(Interpreter& in, const Value& self, std::string_view text) {
    in.spend(text.size());
    return self.is_safe() ? Value::safe_text(std::string(text)) : Value(text);
}

Value pieces(Interpreter& in, const Value& self, const std::vector<std::string_view>& parts) {
    Values items;
    for (const std::string_view part : parts) items.push_back(like(in, self, part));
    return in.list(std::move(items));
}

Value split_method(Interpreter& in, const Value& self, const Arguments& arguments) {
    const Parameters given("split", arguments, {"sep", "maxsplit"});
    const auto separator = given.optional_text(0);
    if (separator && separator->empty()) throw Problem("split(): the separator is empty");
    in.spend(self.text().size() * 4);
    return pieces(in, self, split(self.text(), separator, given.integer(1, -1)));
}

Value rsplit_method(Interpreter& in, const Value& self, const Arguments& arguments) {
    const Parameters given("rsplit", arguments, {"sep", "maxsplit"});
    const auto separator = given.optional_text(0);
    if (separator && separator->empty()) throw Problem("rsplit(): the separator is empty");
    in.spend(self.text().size() * 4);
    return pieces(in, self, split_from_right(self.text(), separator, given.integer(1, -1)));
}

// Whether the text begins or ends with the argument, or with one of a tuple.
Value affix_method(const Value& self, const Arguments& arguments, std::string_view name, bool at_end) {
    const Parameters given(name, arguments, {"affix", "start"});
    const std::string_view text = self.text();
    const auto matches = [&](const Value& affix) {
        if (!affix.is(Kind::Text))
            throw Problem(fmt::format("{}() needs a text, not {}", name, type_name(affix)));
        return at_end ? text.ends_with(affix.text()) : text.starts_with(affix.text());
    };
    const Value& affix = given.required(0);
    if (affix.is(Kind::List) && affix.list().form == ListForm::Tuple)
        return std::ranges::any_of(affix.items(), matches);
    return matches(affix);
}

// Returns the part of the text between the second and the third argument, and the characters before it.
std::pair<std::string_view, std::int64_t> searched_part(const Value& self, const Parameters& given) {
    const auto all = characters(self.text());
    const auto size = std::ssize(all);
    const auto bound = [&](std::size_t i, std::int64_t otherwise) {
        const std::int64_t at = given.integer(i, otherwise);
        return std::clamp<std::int64_t>(at < 0 ? at + size : at, 0, size);
    };
    const std::int64_t begin = bound(1, 0), end = std::max(bound(2, size), begin);
    const auto offset = [&](std::int64_t i) {
        return i == size
                   ? self.text().size()
                   : static_cast<std::size_t>(all[static_cast<std::size_t>(i)].data() - self.text().data());
    };
    return {std::string_view(self.text()).substr(offset(begin), offset(end) - offset(begin)), begin};
}

std::int64_t found_at(Interpreter& in, const Value& self, const Arguments& arguments, std::string_view name,
                      bool last) {
    const Parameters given(name, arguments, {"sub", "start", "end"});
    in.spend(self.text().size() * 8);
    const auto [text, before] = searched_part(self, given);
    std::size_t at = find_text(text, given.text(0));
    if (last && at != std::string_view::npos)
        at = split_from_right(text, given.text(0).empty() ? std::optional<std::string_view>() : given.text(0),
                              1)
                 .front()
                 .size();
    if (last && given.text(0).empty()) at = text.size();
    if (at == std::string_view::npos) return -1;
    return before + static_cast<std::int64_t>(character_count(text.substr(0, at)));
}

Value index_method(Interpreter& in, const Value& self, const Arguments& arguments) {
    const std::int64_t at = found_at(in, self, arguments, "index", false);
    if (at < 0) throw Problem("index(): the text is not found");
    return at;
}

Value count_method(Interpreter& in, const Value& self, const Arguments& arguments) {
    const Parameters given("count", arguments, {"sub", "start", "end"});
    in.spend(self.text().size() * 8);
    const std::string_view text = searched_part(self, given).first;
    if (given.text(0).empty()) return character_count(text) + 1;
    return split(text, given.text(0), -1).size() - 1;
}

Value join_method(Interpreter& in, const Value& self, const Arguments& arguments) {
    const Parameters given("join", arguments, {"iterable"});
    std::string text;
    bool first = true;
    for (const Value& each : in.elements(given.required(0))) {
        if (!each.is(Kind::Text)) throw Problem(fmt::format("join() needs texts, not {}", type_name(each)));
        in.spend(self.text().size() + each.text().size());
        if (!first) text += self.text();
        text += each.text();
        first = false;
    }
    return like(in, self, text);
}

Value replace_method(Interpreter& in, const Value& self, const Arguments& arguments) {
    const Parameters given("replace", arguments, {"old", "new", "count"});
    return like(in, self,
                replaced(self.text(), given.text(0), given.text(1), given.integer(2, -1),
                         [&](std::size_t bytes) { in.spend(bytes + self.text().size() * 4); }));
}

Value splitlines_method(Interpreter& in, const Value& self, const Arguments& arguments) {
    const Parameters given("splitlines", arguments, {"keepends"});
    in.spend(self.text().size() * 4);
    const auto lines = split_lines(self.text());
    if (!given.truth(0, false)) return pieces(in, self, lines);
    std::vector<std::string_view> whole;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const char* const end =
            i + 1 < lines.size() ? lines[i + 1].data() : self.text().data() + self.text().size();
        whole.emplace_back(lines[i].data(), static_cast<std::size_t>(end - lines[i].data()));
    }
    return pieces(in, self, whole);
}

Value partition_method(Interpreter& in, const Value& self, const Arguments& arguments, bool last) {
    const Parameters given(last ? "rpartition" : "partition", arguments, {"sep"});
    const std::string& separator = given.text(0);
    if (separator.empty()) throw Problem("partition(): the separator is empty");
    in.spend(self.text().size() * 4);
    const auto parts = last ? split_from_right(self.text(), separator, 1) : split(self.text(), separator, 1);
    Values items;
    if (parts.size() == 2)
        items = {like(in, self, parts[0]), like(in, self, separator), like(in, self, parts[1])};
    else if (last)
        items = {"", "", self};
    else
        items = {self, "", ""};
    return in.list(std::move(items), ListForm::Tuple);
}

Value remove_affix(Interpreter& in, const Value& self, const Arguments& arguments, bool at_end) {
    const Parameters given(at_end ? "removesuffix" : "removeprefix", arguments, {"affix"});
    std::string_view text = self.text();
    const std::string& affix = given.text(0);
    if (at_end && text.ends_with(affix)) text.remove_suffix(affix.size());
    if (!at_end && text.starts_with(affix)) text.remove_prefix(affix.size());
    return like(in, self, text);
}

template <auto strip>
Value strip_method(Interpreter& in, const Value& self, const Arguments& arguments) {
    const Parameters given("strip", arguments, {"chars"});
    const auto which = given.optional_text(0);
    in.spend(self.text().size() * (1 + (which ? which->size() : 0)));
    return like(in, self, strip(self.text(), which));
}

template <auto convert>
Value case_method(Interpreter& in, const Value& self, const Arguments& arguments) {
    const Parameters given("upper, lower, title or capitalize", arguments, {});
    in.spend(self.text().size() * 8);
    return like(in, self, convert(self.text()));
}

template <auto holds>
Value property_method(Interpreter& in, const Value& self, const Arguments& arguments) {
    const Parameters given("isupper, islower, isdigit or isspace", arguments, {});
    in.spend(self.text().size() * 8);
    return holds(self.text());
}

bool is_space(std::string_view text) {
    return !text.empty() && stripped(text).empty();
}

bool is_digits(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

constexpr std::pair<std::string_view, Method> kTextMethods[] = {
    {"strip", strip_method<stripped>},
    {"lstrip", strip_method<stripped_left>},
    {"rstrip", strip_method<stripped_right>},
    {"split", split_method},
    {"rsplit", rsplit_method},
    {"splitlines", splitlines_method},
    {"partition",
     [](Interpreter& in, const Value& s, const Arguments& a) { return partition_method(in, s, a, false); }},
    {"rpartition",
     [](Interpreter& in, const Value& s, const Arguments& a) { return partition_method(in, s, a, true); }},
    {"startswith", [](Interpreter&, const Value& s,
                      const Arguments& a) { return affix_method(s, a, "startswith", false); }},
    {"endswith",
     [](Interpreter&, const Value& s, const Arguments& a) { return affix_method(s, a, "endswith", true); }},
    {"removeprefix",
     [](Interpreter& in, const Value& s, const Arguments& a) { return remove_affix(in, s, a, false); }},
    {"removesuffix",
     [](Interpreter& in, const Value& s, const Arguments& a) { return remove_affix(in, s, a, true); }},
    {"find",
     [](Interpreter& in, const Value& s, const Arguments& a) -> Value {
         return found_at(in, s, a, "find", false);
     }},
    {"rfind",
     [](Interpreter& in, const Value& s, const Arguments& a) -> Value {
         return found_at(in, s, a, "rfind", true);
     }},
    {"index", index_method},
    {"count", count_method},
    {"join", join_method},
    {"replace", replace_method},
    {"upper", case_method<upper>},
    {"lower", case_method<lower>},
    {"title", case_method<titled>},
    {"capitalize", case_method<capitalized>},
    {"isupper", property_method<is_upper>},
    {"islower", property_method<is_lower>},
    {"isspace", property_method<is_space>},
    {"isdigit", property_method<is_digits>},
    {"isdecimal", property_method<is_digits>},
    {"isnumeric", property_method<is_digits>},
    {"format", braces_formatted},
};

}  // namespace

std::optional<Value> text_method(const Value& self, std::string_view name) {
    const auto* found = std::ranges::find(kTextMethods, name, &std::pair<std::string_view, Method>::first);
    if (found == std::end(kTextMethods)) return std::nullopt;
    return std::make_shared<Function>(
        std::string(name), [self, method = found->second](Interpreter& in, const Arguments& arguments) {
            return method(in, self, arguments);
        });
}

}  // namespace voltpile::llm::jinja
