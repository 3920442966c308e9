// Filters that apply filters or tests to each element of a sequence.
#include <fmt/format.h>

#include <utility>

#include "llm/chat/jinja/filter_table.h"
#include "llm/chat/jinja/interpreter.h"
#include "llm/chat/jinja/item_path.h"
#include "llm/chat/jinja/parameters.h"
#include "llm/chat/jinja/test_table.h"

namespace voltpile::llm::jinja {

namespace {

// The arguments from the `skipped`th on.
Arguments later(const Arguments& arguments, std::size_t skipped) {
    Arguments rest = arguments;
    rest.positional.erase(rest.positional.begin(),
                          rest.positional.begin() + static_cast<std::ptrdiff_t>(skipped));
    return rest;
}

const std::string& name_in(const Arguments& arguments, std::size_t at, std::string_view what) {
    if (at >= arguments.positional.size() || !arguments.positional[at].is(Kind::Text))
        throw Problem(fmt::format("the argument must be the name of {}", what));
    return arguments.positional[at].text();
}

Value map_filter(Interpreter& in, const Value& input, const Arguments& arguments) {
    Values results;
    const Values items = in.elements(input);
    if (arguments.positional.empty() && !arguments.named.empty()) {
        const Parameters given("map", arguments, {"attribute", "default"});
        const Value* otherwise = given.find(1) && !given.find(1)->is(Kind::None) ? given.find(1) : nullptr;
        const ItemPath path(in, &given.required(0), otherwise);
        for (const Value& item : items) results.push_back(path.of(item));
        return in.stream(std::move(results));
    }
    const std::string& name = name_in(arguments, 0, "a filter");
    const FilterFunction filter = find_filter(name);
    if (!filter) throw Problem(fmt::format("there is no filter '{}'", name));
    const Arguments rest = later(arguments, 1);
    const Interpreter::Nested nested(in);
    for (const Value& item : items) {
        in.spend(kStepCost);
        results.push_back(filter(in, item, rest));
    }
    return in.stream(std::move(results));
}

// Keeps the elements for which a test, or without one their truth, is `wanted`. of_attribute: tests what the
// first argument names in each element.
Value selected(Interpreter& in, const Value& input, const Arguments& arguments, bool wanted,
               bool of_attribute) {
    const std::size_t test_at = of_attribute ? 1 : 0;
    if (arguments.positional.size() < test_at) throw Problem("the name of an attribute is missing");
    const ItemPath path(in, of_attribute ? &arguments.positional.front() : nullptr);
    TestFunction test = nullptr;
    Arguments rest;
    if (arguments.positional.size() > test_at) {
        const std::string& name = name_in(arguments, test_at, "a test");
        test = find_test(name);
        if (!test) throw Problem(fmt::format("there is no test '{}'", name));
        rest = later(arguments, test_at + 1);
    }
    Values kept;
    for (Value& item : in.elements(input)) {
        in.spend(kStepCost);
        const Value tested = path.of(item);
        if ((test ? test(in, tested, rest) : truth_of(tested)) == wanted) kept.push_back(std::move(item));
    }
    return in.stream(std::move(kept));
}

template <bool wanted, bool of_attribute>
Value select_filter(Interpreter& in, const Value& input, const Arguments& arguments) {
    return selected(in, input, arguments, wanted, of_attribute);
}

constexpr NamedFilter kSelectionFilters[] = {
    {"map", map_filter},
    {"select", select_filter<true, false>},
    {"reject", select_filter<false, false>},
    {"selectattr", select_filter<true, true>},
    {"rejectattr", select_filter<false, true>},
};

}  // namespace

std::span<const NamedFilter> selection_filters() {
    return kSelectionFilters;
}

}  // namespace voltpile::llm::jinja
