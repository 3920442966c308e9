// Values with behavior of their own: functions, methods, macros, namespaces and `loop`.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "llm/chat/jinja/value.h"

namespace voltpile::llm::jinja {

class Interpreter;

// The arguments of a call.
struct Arguments {
    Values positional;
    std::vector<std::pair<std::string, Value>> named;
};

class Object {
  public:
    virtual ~Object() = default;

    virtual std::string_view type() const = 0;  // Python's name, for messages
    virtual std::string printed(Interpreter& interpreter) const = 0;
    virtual std::optional<Value> attribute(Interpreter&, std::string_view) { return std::nullopt; }
    virtual bool callable() const { return false; }
    virtual Value call(Interpreter& interpreter, const Arguments& arguments);  // throws Problem
    virtual int depth() const { return 0; }                                    // as Value::depth()
};

// A function or a method.
class Function : public Object {
  public:
    using Body = std::function<Value(Interpreter&, const Arguments&)>;

    // depth: of the values that the body holds.
    Function(std::string name, Body body, int depth = 0);

    std::string_view type() const override { return "builtin_function_or_method"; }
    std::string printed(Interpreter&) const override { return "<function " + name_ + ">"; }
    bool callable() const override { return true; }
    Value call(Interpreter& interpreter, const Arguments& arguments) override {
        return body_(interpreter, arguments);
    }
    int depth() const override { return depth_; }

  private:
    std::string name_;
    Body body_;
    int depth_;
};

// What `namespace()` returns: variables that loops can assign to. Its interpreter owns it, because it may
// contain itself.
class Namespace : public Object {
  public:
    std::string_view type() const override { return "Namespace"; }
    std::string printed(Interpreter& interpreter) const override;
    std::optional<Value> attribute(Interpreter& interpreter, std::string_view name) override;
    void set(std::string_view name, Value value);
    const Entries& entries() const { return entries_; }

  private:
    Entries entries_;
};

}  // namespace voltpile::llm::jinja
