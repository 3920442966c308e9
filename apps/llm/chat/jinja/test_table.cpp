#include "llm/chat/jinja/test_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "llm/chat/jinja/compare.h"
#include "llm/chat/jinja/filter_table.h"
#include "llm/chat/jinja/interpreter.h"
#include "llm/chat/jinja/operators.h"
#include "llm/chat/jinja/parameters.h"
#include "llm/chat/jinja/print.h"
#include "llm/chat/jinja/python_text.h"

namespace voltpile::llm::jinja {

namespace {

// The argument of a test that compares.
const Value& other_in(const Arguments& arguments) {
    if (arguments.positional.size() != 1) throw Problem("the test needs one argument");
    return arguments.positional.front();
}

bool is_iterable(const Value& value) {
    return value.is(Kind::Text) || value.is(Kind::List) || value.is(Kind::Map) || value.is(Kind::Stream) ||
           value.is(Kind::Undefined);
}

bool has_length_and_items(const Value& value) {
    return value.is(Kind::Text) || value.is(Kind::Map) || value.is_sequence() || value.is(Kind::Undefined);
}

bool is_same(const Value& a, const Value& b) {
    if (a.kind() != b.kind()) return false;
    switch (a.kind()) {
        case Kind::None:
            return true;
        case Kind::Bool:
            return a.truth() == b.truth();
        case Kind::Int:
            return a.integer() == b.integer();
        case Kind::Text:
            return a.text() == b.text();
        default:
            return a.same_storage(b);
    }
}

bool is_callable(const Value& value) {
    return value.is(Kind::Object) && value.object().callable();
}

// Whether a whole number is divisible; the rest of the division must be `rest`.
bool has_rest(Interpreter& in, const Value& value, const Value& divisor, int rest) {
    return equal(in, computed(in, "%", value, divisor), rest);
}

template <Kind kind>
bool kind_test(Interpreter&, const Value& value, const Arguments&) {
    return value.is(kind);
}

template <bool wanted>
bool truth_test(Interpreter&, const Value& value, const Arguments&) {
    return value.is(Kind::Bool) && value.truth() == wanted;
}

template <auto holds>
bool simple_test(Interpreter&, const Value& value, const Arguments&) {
    return holds(value);
}

template <auto holds>
bool text_test(Interpreter& in, const Value& value, const Arguments&) {
    const std::string text = printed(in, value);
    in.spend(text.size() * 8);
    return holds(text);
}

bool equal_test(Interpreter& in, const Value& a, const Arguments& more) {
    return equal(in, a, other_in(more));
}
bool unequal_test(Interpreter& in, const Value& a, const Arguments& more) {
    return !equal(in, a, other_in(more));
}
bool less_test(Interpreter& in, const Value& a, const Arguments& more) {
    return less(in, a, other_in(more));
}
bool greater_test(Interpreter& in, const Value& a, const Arguments& more) {
    return less(in, other_in(more), a, ">");
}
bool at_most_test(Interpreter& in, const Value& a, const Arguments& more) {
    return less(in, a, other_in(more), "<=") || equal(in, a, other_in(more));
}
bool at_least_test(Interpreter& in, const Value& a, const Arguments& more) {
    return less(in, other_in(more), a, ">=") || equal(in, a, other_in(more));
}

constexpr std::pair<std::string_view, TestFunction> kTests[] = {
    {"defined", [](Interpreter&, const Value& v, const Arguments&) { return !v.is(Kind::Undefined); }},
    {"undefined", kind_test<Kind::Undefined>},
    {"none", kind_test<Kind::None>},
    {"boolean", kind_test<Kind::Bool>},
    {"integer", kind_test<Kind::Int>},
    {"float", kind_test<Kind::Float>},
    {"string", kind_test<Kind::Text>},
    {"mapping", kind_test<Kind::Map>},
    {"number", [](Interpreter&, const Value& v, const Arguments&) { return v.is_number(); }},
    {"true", truth_test<true>},
    {"false", truth_test<false>},
    {"iterable", simple_test<is_iterable>},
    {"sequence", simple_test<has_length_and_items>},
    {"callable", simple_test<is_callable>},
    {"escaped", [](Interpreter&, const Value& v, const Arguments&) { return v.is_safe(); }},
    {"lower", text_test<is_lower>},
    {"upper", text_test<is_upper>},
    {"odd", [](Interpreter& in, const Value& v, const Arguments&) { return has_rest(in, v, 2, 1); }},
    {"even", [](Interpreter& in, const Value& v, const Arguments&) { return has_rest(in, v, 2, 0); }},
    {"divisibleby", [](Interpreter& in, const Value& v,
                       const Arguments& more) { return has_rest(in, v, other_in(more), 0); }},
    {"in",
     [](Interpreter& in, const Value& v, const Arguments& more) { return contains(in, other_in(more), v); }},
    {"sameas",
     [](Interpreter&, const Value& v, const Arguments& more) { return is_same(v, other_in(more)); }},
    {"filter", [](Interpreter& in, const Value& v,
                  const Arguments&) { return find_filter(printed(in, v)) != nullptr; }},
    {"test",
     [](Interpreter& in, const Value& v, const Arguments&) { return find_test(printed(in, v)) != nullptr; }},
    {"eq", equal_test},
    {"equalto", equal_test},
    {"==", equal_test},
    {"ne", unequal_test},
    {"!=", unequal_test},
    {"lt", less_test},
    {"lessthan", less_test},
    {"<", less_test},
    {"gt", greater_test},
    {"greaterthan", greater_test},
    {">", greater_test},
    {"le", at_most_test},
    {"<=", at_most_test},
    {"ge", at_least_test},
    {">=", at_least_test},
};

}  // namespace

TestFunction find_test(std::string_view name) {
    const auto* found = std::ranges::find(kTests, name, &std::pair<std::string_view, TestFunction>::first);
    return found == std::end(kTests) ? nullptr : found->second;
}

}  // namespace voltpile::llm::jinja
