#include "llm/chat/jinja/loop.h"

#include <fmt/format.h>

#include "llm/chat/jinja/compare.h"
#include "llm/chat/jinja/interpreter.h"

namespace voltpile::llm::jinja {

namespace {

Values wanted_items(Interpreter& in, const For& statement, const Value& sequence) {
    Values items = in.elements(sequence);
    if (!statement.condition) return items;
    Values wanted;
    for (Value& item : items) {
        const Interpreter::Inner inner(in, in.scope());
        in.assign(statement.target, item);
        if (truth_of(in.evaluate(*statement.condition))) wanted.push_back(std::move(item));
    }
    return wanted;
}

}  // namespace

void run_loop(Interpreter& in, const For& statement, const Value& sequence, int depth) {
    const auto loop = std::make_shared<Loop>(statement, wanted_items(in, statement, sequence), depth);
    if (loop->items().empty()) {
        const Interpreter::Inner inner(in, in.scope());
        in.execute(statement.otherwise);
        return;
    }
    for (std::size_t i = 0; i < loop->items().size(); ++i) {
        in.spend(kStepCost);
        const Interpreter::Inner inner(in, in.scope());
        loop->go_to(i);
        in.assign(statement.target, loop->items()[i]);
        in.set_variable("loop", std::shared_ptr<Object>(loop));
        if (in.execute(statement.body) == Flow::Break) break;
    }
    loop->end();
}

Loop::Loop(const For& statement, Values items, int depth)
    : statement_(statement), items_(std::move(items)), items_depth_(depth_over(items_)), recursion_(depth) {}

std::string Loop::printed(Interpreter&) const {
    return fmt::format("<LoopContext {}/{}>", index_ + 1, items_.size());
}

std::optional<Value> Loop::attribute(Interpreter&, std::string_view name) {
    const std::size_t length = items_.size();
    if (name == "index") return index_ + 1;
    if (name == "index0") return index_;
    if (name == "revindex") return length - index_;
    if (name == "revindex0") return length - index_ - 1;
    if (name == "first") return index_ == 0;
    if (name == "last") return index_ + 1 == length;
    if (name == "length") return length;
    if (name == "depth") return recursion_ + 1;
    if (name == "depth0") return recursion_;
    if (name == "previtem")
        return index_ > 0 ? items_[index_ - 1] : Value::undefined("there is no previous item");
    if (name == "nextitem")
        return index_ + 1 < length ? items_[index_ + 1] : Value::undefined("there is no next item");
    if (name == "cycle")
        return std::make_shared<Function>(
            "cycle", [index = index_](Interpreter&, const Arguments& arguments) {
                if (arguments.positional.empty()) throw Problem("loop.cycle() needs arguments");
                return arguments.positional[index % arguments.positional.size()];
            });
    if (name == "changed")
        return std::make_shared<Function>(
            "changed",
            [self = shared_from_this()](Interpreter& in, const Arguments& arguments) {
                return Value(self->changed(in, arguments.positional));
            },
            items_depth_);
    return std::nullopt;
}

// Forgets the last value, which might contain the loop itself.
void Loop::end() {
    ended_ = true;
    last_changed_.reset();
}

bool Loop::changed(Interpreter& in, const Values& values) {
    if (ended_) throw Problem("loop.changed() was called after its loop");
    Value value = in.list(values, ListForm::Tuple);
    const bool same = last_changed_ && equal(in, *last_changed_, value);
    last_changed_ = std::move(value);
    return !same;
}

Value Loop::call(Interpreter& in, const Arguments& arguments) {
    if (!statement_.recursive) throw Problem("only a recursive loop can be called");
    if (arguments.positional.size() != 1) throw Problem("loop() takes one argument");
    return in.text(
        in.captured([&] { run_loop(in, statement_, arguments.positional.front(), recursion_ + 1); }));
}

}  // namespace voltpile::llm::jinja
