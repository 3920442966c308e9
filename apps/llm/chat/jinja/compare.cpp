#include "llm/chat/jinja/compare.h"

#include <fmt/format.h>

#include <algorithm>

#include "llm/chat/jinja/interpreter.h"
#include "llm/chat/jinja/python_text.h"

namespace voltpile::llm::jinja {

namespace {

bool equal_lists(Interpreter& in, const List& a, const List& b) {
    if (a.form != b.form || a.items.size() != b.items.size()) return false;
    for (std::size_t i = 0; i < a.items.size(); ++i)
        if (!equal(in, a.items[i], b.items[i])) return false;
    return true;
}

bool equal_maps(Interpreter& in, const Entries& a, const Entries& b) {
    if (a.size() != b.size()) return false;
    for (const auto& [key, value] : a) {
        const Value* other = find(in, b, key);
        if (!other || !equal(in, value, *other)) return false;
    }
    return true;
}

// Returns -1, 0 or 1; 2 if one of them is not a number.
int order(double a, double b) {
    return a < b ? -1 : a > b ? 1 : a == b ? 0 : 2;
}

int number_order(const Value& a, const Value& b) {
    if (a.is_integer() && b.is_integer())
        return a.integer() < b.integer() ? -1 : a.integer() > b.integer() ? 1 : 0;
    return order(a.real(), b.real());
}

}  // namespace

bool equal(Interpreter& in, const Value& a, const Value& b) {
    in.spend(kStepCost);
    if (a.is_number() && b.is_number()) return number_order(a, b) == 0;
    if (a.kind() != b.kind()) return false;
    switch (a.kind()) {
        case Kind::None:
        case Kind::Undefined:
            return true;
        case Kind::Text:
            in.spend(std::min(a.text().size(), b.text().size()));
            return a.text() == b.text();
        case Kind::List:
            return a.same_storage(b) || equal_lists(in, a.list(), b.list());
        case Kind::Map:
            return a.same_storage(b) || equal_maps(in, a.entries(), b.entries());
        default:
            return a.same_storage(b);
    }
}

bool less(Interpreter& in, const Value& a, const Value& b, const char* sign) {
    in.spend(kStepCost);
    require_defined(a);
    require_defined(b);
    if (a.is_number() && b.is_number()) return number_order(a, b) == -1;
    if (a.is(Kind::Text) && b.is(Kind::Text)) {
        in.spend(std::min(a.text().size(), b.text().size()));
        return a.text() < b.text();
    }
    const bool lists = a.is_sequence() && b.is_sequence() && a.list().form == b.list().form;
    if (!lists || a.list().form == ListForm::Range)
        throw Problem(fmt::format("'{}' cannot compare {} and {}", sign, type_name(a), type_name(b)));
    for (std::size_t i = 0; i < std::min(a.items().size(), b.items().size()); ++i)
        if (!equal(in, a.items()[i], b.items()[i])) return less(in, a.items()[i], b.items()[i], sign);
    return a.items().size() < b.items().size();
}

bool contains(Interpreter& in, const Value& container, const Value& item) {
    switch (container.kind()) {
        case Kind::Undefined:
            return false;
        case Kind::Text:
            require_defined(item);
            if (!item.is(Kind::Text))
                throw Problem(fmt::format("'in' needs a text on its left, not {}", type_name(item)));
            in.spend(container.text().size());
            return find_text(container.text(), item.text()) != std::string_view::npos;
        case Kind::Map:
            return find(in, container.entries(), item) != nullptr;
        case Kind::List:
        case Kind::Stream:
            return std::ranges::any_of(in.elements(container),
                                       [&](const Value& each) { return equal(in, each, item); });
        default:
            throw Problem(fmt::format("'in' needs a container on its right, not {}", type_name(container)));
    }
}

const Value* find(Interpreter& in, const Entries& entries, const Value& key) {
    if (!is_hashable(key)) throw Problem(fmt::format("a {} cannot be a key", type_name(key)));
    for (const auto& [each, value] : entries)
        if (equal(in, each, key)) return &value;
    return nullptr;
}

void set_entry(Interpreter& in, Entries& entries, Value key, Value value) {
    const Value* known = find(in, entries, key);
    const auto entry = std::ranges::find_if(entries, [&](const auto& each) { return &each.second == known; });
    if (entry != entries.end())
        entry->second = std::move(value);
    else
        entries.emplace_back(std::move(key), std::move(value));
}

bool is_hashable(const Value& value) {
    if (value.is(Kind::Map)) return false;
    if (!value.is(Kind::List)) return true;
    switch (value.list().form) {
        case ListForm::Tuple:
        case ListForm::Group:
            return std::ranges::all_of(value.items(), is_hashable);
        case ListForm::Range:
            return true;
        default:
            return false;
    }
}

}  // namespace voltpile::llm::jinja
