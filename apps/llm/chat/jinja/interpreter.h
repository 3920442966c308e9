// Evaluates the syntax tree of a template. One object renders one conversation, on one thread.
#pragma once

#include <ctime>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "llm/chat/jinja/limits.h"
#include "llm/chat/jinja/object.h"
#include "llm/chat/jinja/statements.h"
#include "llm/chat/jinja/value.h"

namespace voltpile::llm::jinja {

// The variables that a loop, a macro or a block sets.
struct Scope {
    Scope* parent = nullptr;
    std::vector<std::pair<std::string_view, Value>> variables;
    bool captured = false;  // a macro sees it, perhaps after its end
};

class Interpreter {
  public:
    // variables: what the template can read; they and the tree must outlive this object. now: seconds since
    // 1970, for strftime_now().
    Interpreter(const Entries& variables, std::time_t now);
    Interpreter(const Interpreter&) = delete;
    Interpreter& operator=(const Interpreter&) = delete;

    // All of the following throw Problem.

    std::string render(const Body& body);
    Value evaluate(const Expression& expression);
    Flow execute(const Body& body);

    // Output.
    void write(std::string_view text);
    // Returns what `body` writes.
    template <class F>
    std::string captured(F&& body) {
        std::string text;
        std::string* const outer = std::exchange(output_, &text);
        body();
        output_ = outer;
        return text;
    }

    // Variables.
    Value variable(const std::string& name);
    void set_variable(std::string_view name, Value value);
    void assign(const Target& target, const Value& value);
    Scope* capture_scope();  // keeps the current scope until the end of the rendering

    // A scope within `parent`, current until the end of this object.
    class Inner {
      public:
        Inner(Interpreter& interpreter, Scope* parent);
        ~Inner();
        Inner(const Inner&) = delete;
        Inner& operator=(const Inner&) = delete;

      private:
        Interpreter& interpreter_;
        Scope* outer_;
        std::unique_ptr<Scope> scope_;
    };
    Scope* scope() { return scope_; }

    // Limits.
    void spend(std::size_t units) { budget_.spend(units); }
    class Nested {
      public:
        explicit Nested(Interpreter& interpreter) : interpreter_(interpreter) {
            if (interpreter.nesting_ >= kMostNesting)
                throw Problem("macros, loops or values are nested too deeply");
            ++interpreter_.nesting_;
        }
        ~Nested() { --interpreter_.nesting_; }
        Nested(const Nested&) = delete;
        Nested& operator=(const Nested&) = delete;

      private:
        Interpreter& interpreter_;
    };

    // New values, which cost some of the budget.
    Value text(std::string bytes);
    Value list(Values items, ListForm form = ListForm::List);
    Value map(Entries entries);
    Value stream(Values items);
    Value new_namespace(const Entries& entries);

    // Returns the elements that a loop over the value visits; reads a stream to its end. Throws Problem if it
    // has none.
    Values elements(const Value& value);

    std::time_t now() const { return now_; }

    // Where the evaluation is, for messages.
    int line() const { return line_; }
    void at_line(int line) { line_ = line; }

  private:
    const Entries& variables_;
    std::time_t now_;
    Budget budget_;
    int nesting_ = 0;
    int line_ = 1;
    std::string* output_ = nullptr;
    Scope* scope_ = nullptr;
    Scope top_;
    std::vector<std::unique_ptr<Scope>> captured_;
    std::deque<Namespace> namespaces_;
};

}  // namespace voltpile::llm::jinja
