// The expressions of a template as a syntax tree.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "llm/chat/jinja/filter_table.h"
#include "llm/chat/jinja/object.h"
#include "llm/chat/jinja/test_table.h"
#include "llm/chat/jinja/value.h"

namespace voltpile::llm::jinja {

class Interpreter;

struct Expression {
    int line = 0;
    int height = 1;  // of the tree from here on

    virtual ~Expression() = default;
    // Only Interpreter::evaluate() calls this; it counts steps and nesting.
    virtual Value evaluate(Interpreter& interpreter) const = 0;
};

using ExpressionPtr = std::unique_ptr<Expression>;
using Expressions = std::vector<ExpressionPtr>;

struct CallArguments {
    Expressions positional;
    std::vector<std::pair<std::string, ExpressionPtr>> named;
    ExpressionPtr more_positional;  // *list
    ExpressionPtr more_named;       // **map

    Arguments evaluate(Interpreter& interpreter) const;
};

struct Constant : Expression {
    Value value;
    Value evaluate(Interpreter&) const override { return value; }
};

struct Name : Expression {
    std::string name;
    Value evaluate(Interpreter& interpreter) const override;
};

struct ListLiteral : Expression {
    Expressions items;
    ListForm form = ListForm::List;
    Value evaluate(Interpreter& interpreter) const override;
};

struct MapLiteral : Expression {
    std::vector<std::pair<ExpressionPtr, ExpressionPtr>> entries;
    Value evaluate(Interpreter& interpreter) const override;
};

struct Attribute : Expression {  // base.name
    ExpressionPtr base;
    std::string name;
    Value evaluate(Interpreter& interpreter) const override;
};

struct Item : Expression {  // base[key]
    ExpressionPtr base, key;
    Value evaluate(Interpreter& interpreter) const override;
};

struct Slice : Expression {  // base[begin:end:step]; the three may be null
    ExpressionPtr base, begin, end, step;
    Value evaluate(Interpreter& interpreter) const override;
};

struct Call : Expression {
    ExpressionPtr callee;
    CallArguments arguments;
    Value evaluate(Interpreter& interpreter) const override { return call(interpreter, nullptr); }
    // caller: the macro of a call block, or nullptr.
    Value call(Interpreter& interpreter, const Value* caller) const;
};

// A filter without its input. A template may name an unknown one where it is never used.
struct FilterCall {
    int line = 0;
    std::string name;
    FilterFunction function = nullptr;  // nullptr if unknown
    CallArguments arguments;
    Value apply(Interpreter& interpreter, const Value& input) const;
};

struct Filter : Expression {
    ExpressionPtr input;
    FilterCall filter;
    Value evaluate(Interpreter& interpreter) const override;
};

struct Test : Expression {  // input is name(arguments)
    ExpressionPtr input;
    std::string name;
    TestFunction function = nullptr;
    CallArguments arguments;
    Value evaluate(Interpreter& interpreter) const override;
};

struct Not : Expression {
    ExpressionPtr operand;
    Value evaluate(Interpreter& interpreter) const override;
};

struct Sign : Expression {  // +operand or -operand
    ExpressionPtr operand;
    bool negative = false;
    Value evaluate(Interpreter& interpreter) const override;
};

struct Arithmetic : Expression {
    ExpressionPtr left, right;
    std::string sign;
    Value evaluate(Interpreter& interpreter) const override;
};

struct Concatenation : Expression {  // a ~ b ~ c
    Expressions parts;
    Value evaluate(Interpreter& interpreter) const override;
};

struct Comparison : Expression {  // a < b <= c
    ExpressionPtr first;
    std::vector<std::pair<std::string, ExpressionPtr>> rest;  // "in" and "not in" too
    Value evaluate(Interpreter& interpreter) const override;
};

struct Either : Expression {  // left or right, left and right
    ExpressionPtr left, right;
    bool is_and = false;
    Value evaluate(Interpreter& interpreter) const override;
};

struct Conditional : Expression {               // value if condition else otherwise
    ExpressionPtr condition, value, otherwise;  // `otherwise` may be null
    Value evaluate(Interpreter& interpreter) const override;
};

}  // namespace voltpile::llm::jinja
