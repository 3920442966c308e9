#include "llm/chat/jinja/parameters.h"

#include <fmt/format.h>

#include <algorithm>

#include "llm/chat/jinja/limits.h"

namespace voltpile::llm::jinja {

Parameters::Parameters(std::string_view function, const Arguments& arguments,
                       std::initializer_list<std::string_view> names)
    : function_(function), names_(names), values_(names.size()) {
    if (arguments.positional.size() > names.size())
        throw Problem(fmt::format("{}() takes at most {} arguments, not {}", function, names.size(),
                                  arguments.positional.size()));
    for (std::size_t i = 0; i < arguments.positional.size(); ++i) values_[i] = &arguments.positional[i];
    for (const auto& [name, value] : arguments.named) {
        const auto found = std::ranges::find(names_, name);
        if (found == names_.end()) throw Problem(fmt::format("{}() has no parameter '{}'", function, name));
        const Value*& slot = values_[static_cast<std::size_t>(found - names_.begin())];
        if (slot) throw Problem(fmt::format("{}() has two values for '{}'", function, name));
        slot = &value;
    }
}

const Value& Parameters::required(std::size_t parameter) const {
    if (!values_[parameter])
        throw Problem(fmt::format("{}() needs an argument '{}'", function_, names_[parameter]));
    return *values_[parameter];
}

bool Parameters::truth(std::size_t parameter, bool otherwise) const {
    return values_[parameter] ? truth_of(*values_[parameter]) : otherwise;
}

std::int64_t Parameters::integer(std::size_t parameter, std::int64_t otherwise) const {
    if (!values_[parameter]) return otherwise;
    if (!values_[parameter]->is_integer()) fail_type(parameter, "a whole number");
    return values_[parameter]->integer();
}

const std::string& Parameters::text(std::size_t parameter) const {
    if (!required(parameter).is(Kind::Text)) fail_type(parameter, "a text");
    return values_[parameter]->text();
}

std::optional<std::string_view> Parameters::optional_text(std::size_t parameter) const {
    if (!values_[parameter] || values_[parameter]->is(Kind::None)) return std::nullopt;
    return text(parameter);
}

void Parameters::fail_type(std::size_t parameter, std::string_view wanted) const {
    require_defined(*values_[parameter]);
    throw Problem(fmt::format("{}(): '{}' must be {}, not {}", function_, names_[parameter], wanted,
                              type_name(*values_[parameter])));
}

}  // namespace voltpile::llm::jinja
