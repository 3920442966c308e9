// The statement `for` and its variable `loop`.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "llm/chat/jinja/object.h"
#include "llm/chat/jinja/statements.h"

namespace voltpile::llm::jinja {

// Runs the body for each element of a value. depth: 0, or how deep a recursive loop is in itself.
void run_loop(Interpreter& interpreter, const For& statement, const Value& sequence, int depth);

// The variable `loop`: where the loop is.
class Loop : public Object, public std::enable_shared_from_this<Loop> {
  public:
    // statement: must outlive this object.
    Loop(const For& statement, Values items, int depth);

    std::string_view type() const override { return "LoopContext"; }
    std::string printed(Interpreter&) const override;
    std::optional<Value> attribute(Interpreter& interpreter, std::string_view name) override;
    bool callable() const override { return true; }
    Value call(Interpreter& interpreter, const Arguments& arguments) override;
    int depth() const override { return items_depth_; }

    const Values& items() const { return items_; }
    void go_to(std::size_t index) { index_ = index; }
    void end();

  private:
    bool changed(Interpreter& interpreter, const Values& values);

    const For& statement_;
    Values items_;
    int items_depth_;
    int recursion_;
    std::size_t index_ = 0;
    std::optional<Value> last_changed_;
    bool ended_ = false;
};

}  // namespace voltpile::llm::jinja
