// The statements of a template as a syntax tree.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "llm/chat/jinja/expressions.h"

namespace voltpile::llm::jinja {

enum class Flow { Next, Break, Continue };

struct Statement {
    int line = 0;

    virtual ~Statement() = default;
    // Only Interpreter::execute() calls this; it counts steps and nesting.
    virtual Flow execute(Interpreter& interpreter) const = 0;
};

using Body = std::vector<std::unique_ptr<Statement>>;

// What a value is assigned to: a name, an attribute of a namespace, or several of them.
struct Target {
    int line = 0;
    std::string name;
    std::string attribute;      // of the namespace `name`; else empty
    std::vector<Target> parts;  // of a tuple; else empty
};

// The parameters and the body of a macro or a call block.
struct MacroDefinition {
    std::string name;
    std::vector<std::string> parameters;
    Expressions defaults;  // of the last parameters
    Body body;
    bool uses_caller = false, uses_varargs = false, uses_kwargs = false;
};

struct Data : Statement {
    std::string text;
    Flow execute(Interpreter& interpreter) const override;
};

struct Print : Statement {
    ExpressionPtr value;
    Flow execute(Interpreter& interpreter) const override;
};

struct If : Statement {
    struct Branch {
        ExpressionPtr condition;
        Body body;
    };
    std::vector<Branch> branches;
    Body otherwise;
    Flow execute(Interpreter& interpreter) const override;
};

struct For : Statement {
    Target target;
    ExpressionPtr sequence, condition;  // `condition` may be null
    Body body, otherwise;
    bool recursive = false;
    Flow execute(Interpreter& interpreter) const override;
};

struct Set : Statement {
    Target target;
    ExpressionPtr value;
    Flow execute(Interpreter& interpreter) const override;
};

struct SetBlock : Statement {
    Target target;
    std::vector<FilterCall> filters;
    Body body;
    Flow execute(Interpreter& interpreter) const override;
};

struct With : Statement {  // also without variables: `generation`
    std::vector<std::pair<Target, ExpressionPtr>> variables;
    Body body;
    Flow execute(Interpreter& interpreter) const override;
};

struct DefineMacro : Statement {
    MacroDefinition macro;
    Flow execute(Interpreter& interpreter) const override;
};

struct CallBlock : Statement {
    MacroDefinition caller;
    std::unique_ptr<Call> call;
    Flow execute(Interpreter& interpreter) const override;
};

struct FilterBlock : Statement {
    std::vector<FilterCall> filters;
    Body body;
    Flow execute(Interpreter& interpreter) const override;
};

struct Jump : Statement {
    Flow to = Flow::Break;
    Flow execute(Interpreter&) const override { return to; }
};

}  // namespace voltpile::llm::jinja
