// Filters that sort, group and compare the elements of a sequence. Texts compare without regard to case,
// unless the argument case_sensitive says otherwise.
#include <fmt/format.h>

#include <algorithm>

#include "llm/chat/jinja/compare.h"
#include "llm/chat/jinja/filter_table.h"
#include "llm/chat/jinja/interpreter.h"
#include "llm/chat/jinja/item_path.h"
#include "llm/chat/jinja/parameters.h"
#include "llm/chat/jinja/python_text.h"

namespace voltpile::llm::jinja {

namespace {

using Keyed = std::pair<Value, Value>;  // a key and the element

Value sort_key(Interpreter& in, Value value, bool case_sensitive) {
    if (case_sensitive || !value.is(Kind::Text)) return value;
    in.spend(value.text().size() * 8);
    return lower(value.text());
}

std::vector<Keyed> keyed(Interpreter& in, Values items, const ItemPath& path, bool case_sensitive) {
    std::vector<Keyed> all;
    for (Value& item : items) all.emplace_back(sort_key(in, path.of(item), case_sensitive), std::move(item));
    return all;
}

void sort_by_key(Interpreter& in, std::vector<Keyed>& all, bool reverse = false) {
    std::ranges::stable_sort(all, [&](const Keyed& a, const Keyed& b) {
        return reverse ? less(in, b.first, a.first) : less(in, a.first, b.first);
    });
}

Value sort_filter(Interpreter& in, const Value& input, const Arguments& arguments) {
    const Parameters given("sort", arguments, {"reverse", "case_sensitive", "attribute"});
    const Value* attribute = given.find(2);
    std::vector<Keyed> all;
    if (attribute && attribute->is(Kind::Text) && attribute->text().find(',') != std::string::npos) {
        std::vector<Value> names;
        for (const std::string_view name : split(attribute->text(), ",", -1)) names.emplace_back(name);
        for (Value& item : in.elements(input)) {
            Values keys;
            for (const Value& name : names)
                keys.push_back(sort_key(in, ItemPath(in, &name).of(item), given.truth(1, false)));
            all.emplace_back(in.list(std::move(keys)), std::move(item));
        }
    } else {
        all = keyed(in, in.elements(input), ItemPath(in, attribute), given.truth(1, false));
    }
    sort_by_key(in, all, given.truth(0, false));
    Values items;
    for (Keyed& each : all) items.push_back(std::move(each.second));
    return in.list(std::move(items));
}

Value dictsort_filter(Interpreter& in, const Value& input, const Arguments& arguments) {
    const Parameters given("dictsort", arguments, {"case_sensitive", "by", "reverse"});
    require_defined(input);
    if (!input.is(Kind::Map)) throw Problem(fmt::format("dictsort needs a map, not {}", type_name(input)));
    const std::string by = given.find(1) ? given.text(1) : "key";
    if (by != "key" && by != "value") throw Problem("dictsort: 'by' must be key or value");
    std::vector<Keyed> all;
    for (const auto& [key, value] : input.entries())
        all.emplace_back(sort_key(in, by == "key" ? key : value, given.truth(0, false)),
                         in.list({key, value}, ListForm::Tuple));
    sort_by_key(in, all, given.truth(2, false));
    Values items;
    for (Keyed& each : all) items.push_back(std::move(each.second));
    return in.list(std::move(items));
}

Value unique_filter(Interpreter& in, const Value& input, const Arguments& arguments) {
    const Parameters given("unique", arguments, {"case_sensitive", "attribute"});
    Entries seen;
    Values items;
    const ItemPath path(in, given.find(1));
    for (Keyed& each : keyed(in, in.elements(input), path, given.truth(0, false))) {
        if (find(in, seen, each.first)) continue;
        seen.emplace_back(std::move(each.first), Value());
        items.push_back(std::move(each.second));
    }
    return in.stream(std::move(items));
}

Value extreme(Interpreter& in, const Value& input, const Arguments& arguments, bool greatest) {
    const Parameters given(greatest ? "max" : "min", arguments, {"case_sensitive", "attribute"});
    const ItemPath path(in, given.find(1));
    const auto all = keyed(in, in.elements(input), path, given.truth(0, false));
    if (all.empty()) return Value::undefined("there is no least or greatest item: the sequence is empty");
    const Keyed* best = &all.front();
    for (const Keyed& each : all)
        if (greatest ? less(in, best->first, each.first) : less(in, each.first, best->first)) best = &each;
    return best->second;
}

Value min_filter(Interpreter& in, const Value& input, const Arguments& arguments) {
    return extreme(in, input, arguments, false);
}

Value max_filter(Interpreter& in, const Value& input, const Arguments& arguments) {
    return extreme(in, input, arguments, true);
}

Value groupby_filter(Interpreter& in, const Value& input, const Arguments& arguments) {
    const Parameters given("groupby", arguments, {"attribute", "default", "case_sensitive"});
    const Value* otherwise = given.find(1) && !given.find(1)->is(Kind::None) ? given.find(1) : nullptr;
    const ItemPath path(in, &given.required(0), otherwise);
    std::vector<Keyed> all = keyed(in, in.elements(input), path, given.truth(2, false));
    sort_by_key(in, all);
    Values groups;
    for (std::size_t begin = 0, end = 0; begin < all.size(); begin = end) {
        Values members;
        do members.push_back(all[end++].second);
        while (end < all.size() && equal(in, all[end].first, all[begin].first));
        const Value key = path.of(members.front());
        groups.push_back(in.list({key, in.list(std::move(members))}, ListForm::Group));
    }
    return in.list(std::move(groups));
}

constexpr NamedFilter kOrderFilters[] = {
    {"sort", sort_filter}, {"dictsort", dictsort_filter}, {"unique", unique_filter},
    {"min", min_filter},   {"max", max_filter},           {"groupby", groupby_filter},
};

}  // namespace

std::span<const NamedFilter> order_filters() {
    return kOrderFilters;
}

}  // namespace voltpile::llm::jinja
