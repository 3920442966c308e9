// What each expression evaluates to.
#include <fmt/format.h>

#include "llm/chat/jinja/access.h"
#include "llm/chat/jinja/compare.h"
#include "llm/chat/jinja/expressions.h"
#include "llm/chat/jinja/interpreter.h"
#include "llm/chat/jinja/operators.h"
#include "llm/chat/jinja/print.h"

namespace voltpile::llm::jinja {

namespace {

Value optional_value(Interpreter& in, const ExpressionPtr& expression) {
    return expression ? in.evaluate(*expression) : Value();
}

bool compared(Interpreter& in, std::string_view sign, const Value& left, const Value& right) {
    if (sign == "==") return equal(in, left, right);
    if (sign == "!=") return !equal(in, left, right);
    if (sign == "in") return contains(in, right, left);
    if (sign == "not in") return !contains(in, right, left);
    if (sign == "<") return less(in, left, right, "<");
    if (sign == ">") return less(in, right, left, ">");
    if (sign == "<=") return less(in, left, right, "<=") || equal(in, left, right);
    return less(in, right, left, ">=") || equal(in, left, right);
}

}  // namespace

Arguments CallArguments::evaluate(Interpreter& in) const {
    Arguments arguments;
    for (const ExpressionPtr& each : positional) arguments.positional.push_back(in.evaluate(*each));
    for (const auto& [name, value] : named) arguments.named.emplace_back(name, in.evaluate(*value));
    if (more_positional)
        for (Value& value : in.elements(in.evaluate(*more_positional)))
            arguments.positional.push_back(std::move(value));
    if (more_named) {
        const Value map = in.evaluate(*more_named);
        if (!map.is(Kind::Map)) throw Problem("the argument after ** must be a map");
        in.spend(map.entries().size() * kElementCost);
        for (const auto& [name, value] : map.entries()) {
            if (!name.is(Kind::Text)) throw Problem("the names of arguments must be texts");
            arguments.named.emplace_back(name.text(), value);
        }
    }
    return arguments;
}

Value Name::evaluate(Interpreter& in) const {
    return in.variable(name);
}

Value ListLiteral::evaluate(Interpreter& in) const {
    Values values;
    for (const ExpressionPtr& each : items) values.push_back(in.evaluate(*each));
    return in.list(std::move(values), form);
}

Value MapLiteral::evaluate(Interpreter& in) const {
    Entries values;
    for (const auto& [key, value] : entries) {
        Value name = in.evaluate(*key);
        Value content = in.evaluate(*value);
        set_entry(in, values, std::move(name), std::move(content));
    }
    return in.map(std::move(values));
}

Value Attribute::evaluate(Interpreter& in) const {
    const Value value = in.evaluate(*base);
    in.at_line(line);
    return attribute_of(in, value, name);
}

Value Item::evaluate(Interpreter& in) const {
    const Value value = in.evaluate(*base);
    const Value index = in.evaluate(*key);
    in.at_line(line);
    return item_of(in, value, index);
}

Value Slice::evaluate(Interpreter& in) const {
    const Value value = in.evaluate(*base);
    const Value first = optional_value(in, begin), last = optional_value(in, end);
    const Value stride = optional_value(in, step);
    in.at_line(line);
    return slice_of(in, value, first, last, stride);
}

Value Call::call(Interpreter& in, const Value* caller) const {
    const Value function = in.evaluate(*callee);
    Arguments values = arguments.evaluate(in);
    if (caller) values.named.emplace_back("caller", *caller);
    in.at_line(line);
    require_defined(function);
    if (!function.is(Kind::Object))
        throw Problem(fmt::format("'{}' object is not callable", type_name(function)));
    return function.object().call(in, values);
}

Value FilterCall::apply(Interpreter& in, const Value& input) const {
    if (!function) {
        in.at_line(line);
        throw Problem(fmt::format("there is no filter '{}'", name));
    }
    const Arguments values = arguments.evaluate(in);
    in.at_line(line);
    return function(in, input, values);
}

Value Filter::evaluate(Interpreter& in) const {
    return filter.apply(in, in.evaluate(*input));
}

Value Test::evaluate(Interpreter& in) const {
    if (!function) throw Problem(fmt::format("there is no test '{}'", name));
    const Value value = in.evaluate(*input);
    const Arguments values = arguments.evaluate(in);
    in.at_line(line);
    return function(in, value, values);
}

Value Not::evaluate(Interpreter& in) const {
    return !truth_of(in.evaluate(*operand));
}

Value Sign::evaluate(Interpreter& in) const {
    const Value value = in.evaluate(*operand);
    in.at_line(line);
    return negative ? negated(value) : computed(in, "+", 0, value);
}

Value Arithmetic::evaluate(Interpreter& in) const {
    const Value first = in.evaluate(*left);
    const Value second = in.evaluate(*right);
    in.at_line(line);
    return computed(in, sign, first, second);
}

Value Concatenation::evaluate(Interpreter& in) const {
    std::string text;
    for (const ExpressionPtr& part : parts) {
        const Value value = in.evaluate(*part);
        const std::string more = printed(in, value);
        in.spend(2 * more.size());
        text += more;
    }
    return text;
}

Value Comparison::evaluate(Interpreter& in) const {
    Value left = in.evaluate(*first);
    for (const auto& [sign, operand] : rest) {
        Value right = in.evaluate(*operand);
        in.at_line(line);
        if (!compared(in, sign, left, right)) return false;
        left = std::move(right);
    }
    return true;
}

Value Either::evaluate(Interpreter& in) const {
    Value value = in.evaluate(*left);
    return truth_of(value) == is_and ? in.evaluate(*right) : value;
}

Value Conditional::evaluate(Interpreter& in) const {
    if (truth_of(in.evaluate(*condition))) return in.evaluate(*value);
    if (otherwise) return in.evaluate(*otherwise);
    return Value::undefined("the condition is false and there is no 'else'");
}

}  // namespace voltpile::llm::jinja
