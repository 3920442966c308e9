#include "llm/chat/jinja/macro.h"

#include <fmt/format.h>

#include <algorithm>

#include "llm/chat/jinja/interpreter.h"

namespace voltpile::llm::jinja {

std::optional<Value> Macro::attribute(Interpreter& in, std::string_view name) {
    if (name == "name") return Value(definition_.name);
    if (name != "arguments") return std::nullopt;
    return in.list(Values(definition_.parameters.begin(), definition_.parameters.end()), ListForm::Tuple);
}

Value Macro::call(Interpreter& in, const Arguments& arguments) {
    const Interpreter::Nested nested(in);
    return in.text(in.captured([&] {
        const Interpreter::Inner inner(in, scope_);
        set_parameters(in, arguments);
        in.execute(definition_.body);
    }));
}

void Macro::set_parameters(Interpreter& in, const Arguments& arguments) const {
    const auto& names = definition_.parameters;
    std::vector<bool> used(arguments.named.size());
    const auto named = [&](std::string_view name) -> const Value* {
        for (std::size_t i = 0; i < arguments.named.size(); ++i)
            if (!used[i] && arguments.named[i].first == name) {
                used[i] = true;
                return &arguments.named[i].second;
            }
        return nullptr;
    };
    for (std::size_t i = 0; i < names.size(); ++i) {
        const std::size_t without_default = names.size() - definition_.defaults.size();
        if (i < arguments.positional.size())
            in.set_variable(names[i], arguments.positional[i]);
        else if (const Value* value = named(names[i]))
            in.set_variable(names[i], *value);
        else if (i >= without_default)
            in.set_variable(names[i], in.evaluate(*definition_.defaults[i - without_default]));
        else
            in.set_variable(names[i],
                            Value::undefined(fmt::format("parameter '{}' was not provided", names[i])));
    }
    if (definition_.uses_caller && std::ranges::count(names, "caller") == 0) {
        const Value* caller = named("caller");
        in.set_variable("caller", caller ? *caller : Value::undefined("no caller is defined"));
    }
    set_extras(in, arguments, used);
}

void Macro::set_extras(Interpreter& in, const Arguments& arguments, const std::vector<bool>& used) const {
    Entries more_named;
    for (std::size_t i = 0; i < used.size(); ++i) {
        if (used[i]) continue;
        const auto& [name, value] = arguments.named[i];
        if (!definition_.uses_kwargs)
            throw Problem(fmt::format("the macro '{}' takes no argument '{}'", definition_.name, name));
        more_named.emplace_back(name, value);
    }
    if (definition_.uses_kwargs) in.set_variable("kwargs", in.map(std::move(more_named)));
    const std::size_t known = std::min(definition_.parameters.size(), arguments.positional.size());
    if (!definition_.uses_varargs && arguments.positional.size() > known)
        throw Problem(fmt::format("the macro '{}' takes at most {} arguments", definition_.name, known));
    if (definition_.uses_varargs)
        in.set_variable("varargs",
                        in.list(Values(arguments.positional.begin() + static_cast<std::ptrdiff_t>(known),
                                       arguments.positional.end()),
                                ListForm::Tuple));
}

}  // namespace voltpile::llm::jinja
