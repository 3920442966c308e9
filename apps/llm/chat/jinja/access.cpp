#include "llm/chat/jinja/access.h"

#include <fmt/format.h>

#include <algorithm>

#include "llm/chat/jinja/compare.h"
#include "llm/chat/jinja/interpreter.h"
#include "llm/chat/jinja/print.h"
#include "llm/chat/jinja/python_text.h"

namespace voltpile::llm::jinja {

namespace {

// Python's methods that change a list or a map, which the sandbox forbids.
bool is_forbidden(const Value& base, std::string_view name) {
    constexpr std::string_view kOfLists[] = {"append", "clear", "pop",    "reverse",
                                             "insert", "sort",  "extend", "remove"};
    constexpr std::string_view kOfMaps[] = {"clear", "pop", "popitem", "setdefault", "update"};
    if (base.is(Kind::Map)) return std::ranges::count(kOfMaps, name) > 0;
    return base.is(Kind::List) && base.list().form == ListForm::List &&
           std::ranges::count(kOfLists, name) > 0;
}

std::optional<Value> own_attribute(Interpreter& in, const Value& base, std::string_view name) {
    if (is_forbidden(base, name) || name.starts_with("__"))
        return Value::undefined(
            fmt::format("access to attribute '{}' of '{}' object is unsafe", name, type_name(base)));
    switch (base.kind()) {
        case Kind::Text:
            return text_method(base, name);
        case Kind::Map:
            return map_method(base, name);
        case Kind::List:
            return list_method(base, name);
        case Kind::Object:
            return base.object().attribute(in, name);
        default:
            return std::nullopt;
    }
}

// Returns the index of an element, counted from the end if it is negative; nothing if there is none.
std::optional<std::size_t> position(std::int64_t index, std::size_t size) {
    const auto length = static_cast<std::int64_t>(size);
    if (index < 0) index += length;
    if (index < 0 || index >= length) return std::nullopt;
    return static_cast<std::size_t>(index);
}

std::optional<Value> own_item(Interpreter& in, const Value& base, const Value& key) {
    if (base.is(Kind::Map)) {
        if (!is_hashable(key)) return std::nullopt;
        const Value* value = find(in, base.entries(), key);
        return value ? std::optional<Value>(*value) : std::nullopt;
    }
    if (!key.is_integer()) return std::nullopt;
    if (base.is_sequence()) {
        const auto at = position(key.integer(), base.items().size());
        return at ? std::optional<Value>(base.items()[*at]) : std::nullopt;
    }
    if (base.is(Kind::Text)) {
        in.spend(base.text().size() * 4);
        const auto all = characters(base.text());
        const auto at = position(key.integer(), all.size());
        return at ? std::optional<Value>(all[*at]) : std::nullopt;
    }
    return std::nullopt;
}

std::string type_for_messages(const Value& value) {
    return value.is(Kind::None) ? "None" : fmt::format("'{} object'", type_name(value));
}

struct Bounds {
    std::int64_t begin, end, step;
};

// Python's rules for the bounds of a slice.
Bounds bounds_of(std::size_t size, const Value& begin, const Value& end, const Value& step) {
    for (const Value* each : {&begin, &end, &step})
        if (!each->is(Kind::None) && !each->is_integer()) {
            require_defined(*each);
            throw Problem("the bounds of a slice must be whole numbers");
        }
    const auto length = static_cast<std::int64_t>(size);
    Bounds bounds{0, length, step.is(Kind::None) ? 1 : step.integer()};
    if (bounds.step == 0) throw Problem("the step of a slice must not be 0");
    bounds.step = std::clamp(bounds.step, -length - 1, length + 1);
    const std::int64_t least = bounds.step < 0 ? -1 : 0, most = bounds.step < 0 ? length - 1 : length;
    if (bounds.step < 0) bounds = {length - 1, -1, bounds.step};
    const auto clamped = [&](std::int64_t index) {
        return std::clamp(index < 0 ? std::max(index, -length - 1) + length : index, least, most);
    };
    if (!begin.is(Kind::None)) bounds.begin = clamped(begin.integer());
    if (!end.is(Kind::None)) bounds.end = clamped(end.integer());
    return bounds;
}

template <class Use>
void for_each_index(const Bounds& bounds, Use&& use) {
    for (std::int64_t i = bounds.begin; bounds.step > 0 ? i < bounds.end : i > bounds.end; i += bounds.step)
        use(static_cast<std::size_t>(i));
}

}  // namespace

Value attribute_of(Interpreter& in, const Value& base, std::string_view name) {
    require_defined(base);
    if (auto found = own_attribute(in, base, name)) return *std::move(found);
    if (base.is(Kind::Map)) {
        in.spend(base.entries().size());
        if (const Value* value = find(base.entries(), name)) return *value;
    }
    return Value::undefined(fmt::format("{} has no attribute '{}'", type_for_messages(base), name));
}

Value item_of(Interpreter& in, const Value& base, const Value& key) {
    require_defined(base);
    if (auto found = own_item(in, base, key)) return *std::move(found);
    if (!key.is(Kind::Text))
        return Value::undefined(
            fmt::format("{} has no element {}", type_for_messages(base), represented(in, key)));
    if (auto found = own_attribute(in, base, key.text())) return *std::move(found);
    in.spend(key.text().size());
    return Value::undefined(fmt::format("{} has no attribute '{}'", type_for_messages(base), key.text()));
}

Value slice_of(Interpreter& in, const Value& base, const Value& begin, const Value& end, const Value& step) {
    require_defined(base);
    if (base.is_sequence()) {
        Values items;
        for_each_index(bounds_of(base.items().size(), begin, end, step),
                       [&](std::size_t i) { items.push_back(base.items()[i]); });
        return in.list(std::move(items), base.list().form);
    }
    if (!base.is(Kind::Text))
        return Value::undefined(fmt::format("{} has no slices", type_for_messages(base)));
    in.spend(base.text().size() * 4);
    const auto all = characters(base.text());
    std::string text;
    for_each_index(bounds_of(all.size(), begin, end, step), [&](std::size_t i) { text.append(all[i]); });
    return base.is_safe() ? Value::safe_text(std::move(text)) : in.text(std::move(text));
}

}  // namespace voltpile::llm::jinja
