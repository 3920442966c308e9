// The methods of maps and lists that do not change them.
#include <fmt/format.h>

#include <algorithm>

#include "llm/chat/jinja/access.h"
#include "llm/chat/jinja/compare.h"
#include "llm/chat/jinja/interpreter.h"
#include "llm/chat/jinja/parameters.h"

namespace voltpile::llm::jinja {

namespace {

using ContainerMethod = Value (*)(Interpreter& in, const Value& self, const Arguments& arguments);

Value get_method(Interpreter& in, const Value& self, const Arguments& arguments) {
    if (!arguments.named.empty()) throw Problem("get() takes no names of arguments");
    const Parameters given("get", arguments, {"key", "default"});
    if (const Value* value = find(in, self.entries(), given.required(0))) return *value;
    return given.find(1) ? *given.find(1) : Value();
}

Value keys_method(Interpreter& in, const Value& self, const Arguments& arguments) {
    const Parameters given("keys", arguments, {});
    return in.list(in.elements(self), ListForm::KeyView);
}

Value values_method(Interpreter& in, const Value& self, const Arguments& arguments) {
    const Parameters given("values", arguments, {});
    Values values;
    for (const auto& [key, value] : self.entries()) values.push_back(value);
    return in.list(std::move(values), ListForm::ValueView);
}

Value items_method(Interpreter& in, const Value& self, const Arguments& arguments) {
    const Parameters given("items", arguments, {});
    Values items;
    for (const auto& [key, value] : self.entries()) items.push_back(in.list({key, value}, ListForm::Tuple));
    return in.list(std::move(items), ListForm::ItemView);
}

Value copy_method(Interpreter&, const Value& self, const Arguments& arguments) {
    const Parameters given("copy", arguments, {});
    return self;  // nothing can change it
}

Value list_index_method(Interpreter& in, const Value& self, const Arguments& arguments) {
    const Parameters given("index", arguments, {"value"});
    for (std::size_t i = 0; i < self.items().size(); ++i)
        if (equal(in, self.items()[i], given.required(0))) return i;
    throw Problem("index(): the value is not in the list");
}

Value list_count_method(Interpreter& in, const Value& self, const Arguments& arguments) {
    const Parameters given("count", arguments, {"value"});
    return std::ranges::count_if(self.items(),
                                 [&](const Value& each) { return equal(in, each, given.required(0)); });
}

using NamedMethod = std::pair<std::string_view, ContainerMethod>;

constexpr NamedMethod kMapMethods[] = {
    {"get", get_method},     {"keys", keys_method}, {"values", values_method},
    {"items", items_method}, {"copy", copy_method},
};

constexpr NamedMethod kListMethods[] = {
    {"index", list_index_method},
    {"count", list_count_method},
    {"copy", copy_method},
};

template <std::size_t N>
std::optional<Value> bound(const NamedMethod (&methods)[N], const Value& self, std::string_view name) {
    const auto* found = std::ranges::find(methods, name, &NamedMethod::first);
    if (found == std::end(methods)) return std::nullopt;
    return std::make_shared<Function>(
        std::string(name),
        [self, method = found->second](Interpreter& in, const Arguments& arguments) {
            return method(in, self, arguments);
        },
        self.depth());
}

}  // namespace

std::optional<Value> map_method(const Value& self, std::string_view name) {
    return bound(kMapMethods, self, name);
}

std::optional<Value> list_method(const Value& self, std::string_view name) {
    if (!self.is_sequence()) return std::nullopt;
    if (self.list().form == ListForm::Group && (name == "grouper" || name == "list"))
        return self.items()[name == "list" ? 1 : 0];
    return bound(kListMethods, self, name);
}

}  // namespace voltpile::llm::jinja
