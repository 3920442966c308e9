#include "llm/chat/jinja/value.h"

#include <algorithm>

#include "llm/chat/jinja/limits.h"
#include "llm/chat/jinja/object.h"

namespace voltpile::llm::jinja {

namespace {

int deeper(int depth) {
    if (depth >= kMostValueDepth) throw Problem("lists and maps are nested too deeply");
    return depth + 1;
}

}  // namespace

int depth_over(const Values& values) {
    int depth = 0;
    for (const Value& value : values) depth = std::max(depth, value.depth());
    return deeper(depth);
}

Value Value::list(Values items, ListForm form) {
    const int depth = depth_over(items);
    Value value;
    value.data_ = std::make_shared<const List>(form, std::move(items), depth);
    return value;
}

Value Value::map(Entries entries) {
    int depth = 0;
    for (const auto& [key, each] : entries) depth = std::max({depth, key.depth(), each.depth()});
    Value value;
    value.data_ = std::make_shared<const Map>(std::move(entries), deeper(depth));
    return value;
}

Value Value::safe_text(std::string text) {
    Value value;
    value.data_ = std::make_shared<const Text>(std::move(text), true);
    return value;
}

Value Value::undefined(std::string problem) {
    Value value;
    value.data_ = Undefined{std::make_shared<const std::string>(std::move(problem))};
    return value;
}

bool Value::is_sequence() const {
    return is(Kind::List) && list().form <= ListForm::Range;
}

const Values& Value::items() const {
    return list().items;
}

const Entries& Value::entries() const {
    return std::get<std::shared_ptr<const Map>>(data_)->entries;
}

bool Value::same_storage(const Value& other) const {
    if (kind() != other.kind()) return false;
    switch (kind()) {
        case Kind::List:
            return &list() == &other.list();
        case Kind::Map:
            return &entries() == &other.entries();
        case Kind::Stream:
            return &stream() == &other.stream();
        case Kind::Object:
            return &object() == &other.object();
        default:
            return false;
    }
}

int Value::depth() const {
    switch (kind()) {
        case Kind::List:
            return list().depth;
        case Kind::Map:
            return std::get<std::shared_ptr<const Map>>(data_)->depth;
        case Kind::Stream:
            return stream().depth;
        case Kind::Object:
            return object().depth();
        default:
            return 0;
    }
}

bool truth_of(const Value& value) {
    switch (value.kind()) {
        case Kind::None:
        case Kind::Undefined:
            return false;
        case Kind::Bool:
            return value.truth();
        case Kind::Int:
            return value.integer() != 0;
        case Kind::Float:
            return value.real() != 0;
        case Kind::Text:
            return !value.text().empty();
        case Kind::List:
            return !value.items().empty();
        case Kind::Map:
            return !value.entries().empty();
        case Kind::Stream:
        case Kind::Object:
            return true;
    }
    return false;
}

const Value* find(const Entries& entries, std::string_view key) {
    for (const auto& [each, value] : entries)
        if (each.is(Kind::Text) && each.text() == key) return &value;
    return nullptr;
}

std::string_view type_name(const Value& value) {
    switch (value.kind()) {
        case Kind::None:
            return "NoneType";
        case Kind::Undefined:
            return "Undefined";
        case Kind::Bool:
            return "bool";
        case Kind::Int:
            return "int";
        case Kind::Float:
            return "float";
        case Kind::Text:
            return "str";
        case Kind::List:
            switch (value.list().form) {
                case ListForm::List:
                    return "list";
                case ListForm::Tuple:
                case ListForm::Group:
                    return "tuple";
                case ListForm::Range:
                    return "range";
                case ListForm::KeyView:
                    return "dict_keys";
                case ListForm::ValueView:
                    return "dict_values";
                case ListForm::ItemView:
                    return "dict_items";
            }
            return "list";
        case Kind::Map:
            return "dict";
        case Kind::Stream:
            return "generator";
        case Kind::Object:
            return value.object().type();
    }
    return "object";
}

void require_defined(const Value& value) {
    if (value.is(Kind::Undefined)) throw Problem(value.problem());
}

}  // namespace voltpile::llm::jinja
