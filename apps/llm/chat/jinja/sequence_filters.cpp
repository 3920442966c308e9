// Filters that take sequences apart and put them together.
#include <fmt/format.h>

#include <algorithm>

#include "llm/chat/jinja/compare.h"
#include "llm/chat/jinja/filter_table.h"
#include "llm/chat/jinja/interpreter.h"
#include "llm/chat/jinja/item_path.h"
#include "llm/chat/jinja/operators.h"
#include "llm/chat/jinja/parameters.h"
#include "llm/chat/jinja/print.h"
#include "llm/chat/jinja/python_text.h"

namespace voltpile::llm::jinja {

namespace {

Value length_filter(Interpreter& in, const Value& input, const Arguments& arguments) {
    const Parameters given("length", arguments, {});
    switch (input.kind()) {
        case Kind::Undefined:
            return 0;
        case Kind::Text:
            in.spend(input.text().size());
            return character_count(input.text());
        case Kind::List:
            return input.items().size();
        case Kind::Map:
            return input.entries().size();
        default:
            throw Problem(fmt::format("a {} has no length", type_name(input)));
    }
}

Value first_filter(Interpreter& in, const Value& input, const Arguments& arguments) {
    const Parameters given("first", arguments, {});
    if (input.is(Kind::Stream)) {
        Stream& stream = input.stream();
        if (stream.next < stream.items.size()) return stream.items[stream.next++];
    } else {
        const Values items = in.elements(input);
        if (!items.empty()) return items.front();
    }
    return Value::undefined("there is no first item: the sequence is empty");
}

Value last_filter(Interpreter& in, const Value& input, const Arguments& arguments) {
    const Parameters given("last", arguments, {});
    if (input.is(Kind::Stream)) throw Problem("last: a generator has no last item; make it a list");
    const Values items = in.elements(input);
    if (!items.empty()) return items.back();
    return Value::undefined("there is no last item: the sequence is empty");
}

Value list_filter(Interpreter& in, const Value& input, const Arguments& arguments) {
    const Parameters given("list", arguments, {});
    return in.list(in.elements(input));
}

Value items_filter(Interpreter& in, const Value& input, const Arguments& arguments) {
    const Parameters given("items", arguments, {});
    Values items;
    if (!input.is(Kind::Undefined)) {
        if (!input.is(Kind::Map)) throw Problem(fmt::format("items needs a map, not {}", type_name(input)));
        for (const auto& [key, value] : input.entries())
            items.push_back(in.list({key, value}, ListForm::Tuple));
    }
    return in.stream(std::move(items));
}

Value join_filter(Interpreter& in, const Value& input, const Arguments& arguments) {
    const Parameters given("join", arguments, {"d", "attribute"});
    const std::string separator = given.find(0) ? printed(in, *given.find(0)) : "";
    const ItemPath path(in, given.find(1));
    std::string text;
    bool first = true;
    for (const Value& each : in.elements(input)) {
        const std::string part = printed(in, path.of(each));
        in.spend(separator.size() + part.size());
        if (!first) text += separator;
        text += part;
        first = false;
    }
    return text;
}

Value reverse_filter(Interpreter& in, const Value& input, const Arguments& arguments) {
    const Parameters given("reverse", arguments, {});
    Values items = in.elements(input);
    std::ranges::reverse(items);
    if (!input.is(Kind::Text)) return in.stream(std::move(items));
    std::string text;
    for (const Value& each : items) text += each.text();
    return text;
}

Value batch_filter(Interpreter& in, const Value& input, const Arguments& arguments) {
    const Parameters given("batch", arguments, {"linecount", "fill_with"});
    given.required(0);
    const std::int64_t size = given.integer(0, 1);
    Values batches, batch;
    for (const Value& each : in.elements(input)) {
        if (std::ssize(batch) == size) {
            batches.push_back(in.list(std::move(batch)));
            batch.clear();
        }
        batch.push_back(each);
    }
    if (!batch.empty()) {
        const Value* fill = given.find(1);
        if (fill && !fill->is(Kind::None) && size > std::ssize(batch)) {
            in.spend(static_cast<std::size_t>(size));
            in.spend(kElementCost * static_cast<std::size_t>(size));
            batch.resize(static_cast<std::size_t>(size), *fill);
        }
        batches.push_back(in.list(std::move(batch)));
    }
    return in.stream(std::move(batches));
}

Value slice_filter(Interpreter& in, const Value& input, const Arguments& arguments) {
    const Parameters given("slice", arguments, {"slices", "fill_with"});
    given.required(0);
    const std::int64_t count = given.integer(0, 1);
    if (count <= 0) throw Problem("slice: the number of slices must be at least 1");
    const Values items = in.elements(input);
    const auto slices = static_cast<std::size_t>(count);
    in.spend(slices);
    in.spend(slices * kElementCost);
    const std::size_t least = items.size() / slices, longer = items.size() % slices;
    Values result;
    auto next = items.begin();
    for (std::size_t i = 0; i < slices; ++i) {
        const auto end = next + static_cast<std::ptrdiff_t>(least + (i < longer ? 1 : 0));
        Values slice(next, end);
        if (i >= longer && given.find(1) && !given.find(1)->is(Kind::None)) slice.push_back(*given.find(1));
        result.push_back(in.list(std::move(slice)));
        next = end;
    }
    return in.stream(std::move(result));
}

Value sum_filter(Interpreter& in, const Value& input, const Arguments& arguments) {
    const Parameters given("sum", arguments, {"attribute", "start"});
    const ItemPath path(in, given.find(0));
    Value sum = given.find(1) ? *given.find(1) : Value(0);
    if (sum.is(Kind::Text)) throw Problem("sum cannot add texts");
    for (const Value& each : in.elements(input)) sum = computed(in, "+", sum, path.of(each));
    return sum;
}

Value default_filter(Interpreter&, const Value& input, const Arguments& arguments) {
    const Parameters given("default", arguments, {"default_value", "boolean"});
    const bool missing = input.is(Kind::Undefined) || (given.truth(1, false) && !truth_of(input));
    if (!missing) return input;
    return given.find(0) ? *given.find(0) : Value("");
}

constexpr NamedFilter kSequenceFilters[] = {
    {"length", length_filter}, {"count", length_filter}, {"first", first_filter}, {"last", last_filter},
    {"list", list_filter},     {"items", items_filter},  {"join", join_filter},   {"reverse", reverse_filter},
    {"batch", batch_filter},   {"slice", slice_filter},  {"sum", sum_filter},     {"default", default_filter},
    {"d", default_filter},
};

}  // namespace

std::span<const NamedFilter> sequence_filters() {
    return kSequenceFilters;
}

}  // namespace voltpile::llm::jinja
