#include "llm/chat/jinja/object.h"

#include <fmt/format.h>

#include "llm/chat/jinja/interpreter.h"
#include "llm/chat/jinja/limits.h"
#include "llm/chat/jinja/print.h"

namespace voltpile::llm::jinja {

Value Object::call(Interpreter&, const Arguments&) {
    throw Problem(fmt::format("'{}' object is not callable", type()));
}

Function::Function(std::string name, Body body, int depth)
    : name_(std::move(name)), body_(std::move(body)), depth_(depth + 1) {
    if (depth_ > kMostValueDepth) throw Problem("lists and maps are nested too deeply");
}

std::string Namespace::printed(Interpreter& interpreter) const {
    return "<Namespace " + printed_map(interpreter, entries_) + ">";
}

std::optional<Value> Namespace::attribute(Interpreter& interpreter, std::string_view name) {
    interpreter.spend(entries_.size());
    if (const Value* value = find(entries_, name)) return *value;
    return std::nullopt;
}

void Namespace::set(std::string_view name, Value value) {
    if (name.starts_with('_')) throw Problem("names in a namespace must not begin with an underscore");
    for (auto& [key, old] : entries_)
        if (key.text() == name) {
            old = std::move(value);
            return;
        }
    entries_.emplace_back(name, std::move(value));
}

}  // namespace voltpile::llm::jinja
