// Chat templates for models whose files have none, by the names that --template takes.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace voltpile::llm {

struct NamedTemplate {
    std::string_view name;
    std::string_view begin, end;  // the Jinja text, in two parts: what several templates share comes first

    std::string text() const { return std::string(begin) + std::string(end); }
};

std::span<const NamedTemplate> named_templates();

}  // namespace voltpile::llm
