#include "llm/chat/jinja/interpreter.h"

#include <fmt/format.h>

#include <algorithm>

#include "llm/chat/jinja/functions.h"
#include "llm/chat/jinja/python_text.h"

namespace voltpile::llm::jinja {

Interpreter::Interpreter(const Entries& variables, std::time_t now)
    : variables_(variables), now_(now), scope_(&top_) {}

std::string Interpreter::render(const Body& body) {
    return captured([&] { execute(body); });
}

Value Interpreter::evaluate(const Expression& expression) {
    const Nested nested(*this);
    spend(kStepCost);
    line_ = expression.line;
    return expression.evaluate(*this);
}

Flow Interpreter::execute(const Body& body) {
    const Nested nested(*this);
    for (const auto& statement : body) {
        spend(kStepCost);
        line_ = statement->line;
        if (const Flow flow = statement->execute(*this); flow != Flow::Next) return flow;
    }
    return Flow::Next;
}

void Interpreter::write(std::string_view text) {
    spend(text.size());
    output_->append(text);
}

Value Interpreter::variable(const std::string& name) {
    for (const Scope* scope = scope_; scope; scope = scope->parent) {
        spend(scope->variables.size());
        const auto found =
            std::ranges::find(scope->variables, name, &std::pair<std::string_view, Value>::first);
        if (found != scope->variables.end()) return found->second;
    }
    if (const Value* value = find(variables_, name)) return *value;
    if (auto function = global_function(name)) return *function;
    return Value::undefined(fmt::format("'{}' is undefined", name));
}

void Interpreter::set_variable(std::string_view name, Value value) {
    auto& variables = scope_->variables;
    const auto found = std::ranges::find(variables, name, &std::pair<std::string_view, Value>::first);
    if (found != variables.end())
        found->second = std::move(value);
    else
        variables.emplace_back(name, std::move(value));
}

void Interpreter::assign(const Target& target, const Value& value) {
    if (!target.parts.empty()) {
        const Values parts = elements(value);
        if (parts.size() != target.parts.size())
            throw Problem(
                fmt::format("cannot assign {} values to {} names", parts.size(), target.parts.size()));
        for (std::size_t i = 0; i < parts.size(); ++i) assign(target.parts[i], parts[i]);
    } else if (target.attribute.empty()) {
        set_variable(target.name, value);
    } else {
        const Value base = variable(target.name);
        auto* space = base.is(Kind::Object) ? dynamic_cast<Namespace*>(&base.object()) : nullptr;
        if (!space)
            throw Problem(fmt::format("cannot set an attribute of '{}': it is no namespace", target.name));
        spend(kElementCost);
        space->set(target.attribute, value);
    }
}

Scope* Interpreter::capture_scope() {
    for (Scope* scope = scope_; scope && !scope->captured; scope = scope->parent) scope->captured = true;
    return scope_;
}

Interpreter::Inner::Inner(Interpreter& interpreter, Scope* parent)
    : interpreter_(interpreter), outer_(interpreter.scope_), scope_(std::make_unique<Scope>()) {
    interpreter.spend(sizeof(Scope));
    scope_->parent = parent;
    interpreter.scope_ = scope_.get();
}

Interpreter::Inner::~Inner() {
    interpreter_.scope_ = outer_;
    if (scope_->captured) interpreter_.captured_.push_back(std::move(scope_));
}

Value Interpreter::text(std::string bytes) {
    spend(bytes.size() + sizeof(Text));
    return bytes;
}

Value Interpreter::list(Values items, ListForm form) {
    spend(kElementCost * (items.size() + 1));
    return Value::list(std::move(items), form);
}

Value Interpreter::map(Entries entries) {
    spend(kElementCost * (2 * entries.size() + 1));
    return Value::map(std::move(entries));
}

Value Interpreter::stream(Values items) {
    spend(kElementCost * (items.size() + 1));
    const int depth = depth_over(items);
    return std::make_shared<Stream>(std::move(items), 0, depth);
}

Value Interpreter::new_namespace(const Entries& entries) {
    spend(sizeof(Namespace));
    Namespace& space = namespaces_.emplace_back();
    for (const auto& [name, value] : entries) {
        if (!name.is(Kind::Text)) throw Problem("the names in a namespace must be texts");
        space.set(name.text(), value);
    }
    // Not owned by the value: a namespace may contain itself.
    return std::shared_ptr<Object>(std::shared_ptr<Object>(), &space);
}

Values Interpreter::elements(const Value& value) {
    Values all;
    switch (value.kind()) {
        case Kind::Undefined:
            break;
        case Kind::Text:
            spend((kElementCost + sizeof(Text)) * value.text().size());
            for (const std::string_view each : characters(value.text())) all.emplace_back(each);
            break;
        case Kind::List:
            spend(kElementCost * value.items().size());
            all = value.items();
            break;
        case Kind::Map:
            spend(kElementCost * value.entries().size());
            for (const auto& [key, each] : value.entries()) all.push_back(key);
            break;
        case Kind::Stream: {
            Stream& stream = value.stream();
            spend(kElementCost * (stream.items.size() - stream.next));
            all.assign(stream.items.begin() + static_cast<std::ptrdiff_t>(stream.next), stream.items.end());
            stream.next = stream.items.size();
            break;
        }
        default:
            throw Problem(fmt::format("'{}' object is not iterable", type_name(value)));
    }
    return all;
}

}  // namespace voltpile::llm::jinja
