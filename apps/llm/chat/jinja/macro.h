// A macro, or the body of a call block: a function written in the template.
#pragma once

#include <string>
#include <string_view>

#include "llm/chat/jinja/object.h"
#include "llm/chat/jinja/statements.h"

namespace voltpile::llm::jinja {

struct Scope;

class Macro : public Object {
  public:
    // definition, scope: must outlive this object; the body sees the variables of `scope`.
    Macro(const MacroDefinition& definition, Scope* scope) : definition_(definition), scope_(scope) {}

    std::string_view type() const override { return "Macro"; }
    std::string printed(Interpreter&) const override { return "<Macro '" + definition_.name + "'>"; }
    std::optional<Value> attribute(Interpreter& interpreter, std::string_view name) override;
    bool callable() const override { return true; }
    // Returns what the body writes.
    Value call(Interpreter& interpreter, const Arguments& arguments) override;

  private:
    void set_parameters(Interpreter& interpreter, const Arguments& arguments) const;
    void set_extras(Interpreter& interpreter, const Arguments& arguments,
                    const std::vector<bool>& used_names) const;

    const MacroDefinition& definition_;
    Scope* scope_;
};

}  // namespace voltpile::llm::jinja
