// What each statement does.
#include "llm/chat/jinja/interpreter.h"
#include "llm/chat/jinja/loop.h"
#include "llm/chat/jinja/macro.h"
#include "llm/chat/jinja/print.h"

namespace voltpile::llm::jinja {

namespace {

Value filtered(Interpreter& in, const std::vector<FilterCall>& filters, Value value) {
    for (const FilterCall& filter : filters) value = filter.apply(in, value);
    return value;
}

// Returns what the body writes; the variables that it sets end with it.
Value written_by(Interpreter& in, const Body& body) {
    return in.text(in.captured([&] {
        const Interpreter::Inner inner(in, in.scope());
        in.execute(body);
    }));
}

}  // namespace

Flow Data::execute(Interpreter& in) const {
    in.write(text);
    return Flow::Next;
}

Flow Print::execute(Interpreter& in) const {
    const Value result = in.evaluate(*value);
    if (result.is(Kind::Text))
        in.write(result.text());
    else
        in.write(printed(in, result));
    return Flow::Next;
}

Flow If::execute(Interpreter& in) const {
    for (const Branch& branch : branches)
        if (truth_of(in.evaluate(*branch.condition))) return in.execute(branch.body);
    return in.execute(otherwise);
}

Flow For::execute(Interpreter& in) const {
    run_loop(in, *this, in.evaluate(*sequence), 0);
    return Flow::Next;
}

Flow Set::execute(Interpreter& in) const {
    const Value result = in.evaluate(*value);
    in.assign(target, result);
    return Flow::Next;
}

Flow SetBlock::execute(Interpreter& in) const {
    in.assign(target, filtered(in, filters, written_by(in, body)));
    return Flow::Next;
}

Flow With::execute(Interpreter& in) const {
    Values values;
    for (const auto& [variable, value] : variables) values.push_back(in.evaluate(*value));
    const Interpreter::Inner inner(in, in.scope());
    for (std::size_t i = 0; i < values.size(); ++i) in.assign(variables[i].first, values[i]);
    return in.execute(body);
}

Flow DefineMacro::execute(Interpreter& in) const {
    in.set_variable(macro.name, std::make_shared<Macro>(macro, in.capture_scope()));
    return Flow::Next;
}

Flow CallBlock::execute(Interpreter& in) const {
    const Value macro = std::make_shared<Macro>(caller, in.capture_scope());
    in.write(printed(in, call->call(in, &macro)));
    return Flow::Next;
}

Flow FilterBlock::execute(Interpreter& in) const {
    in.write(printed(in, filtered(in, filters, written_by(in, body))));
    return Flow::Next;
}

}  // namespace voltpile::llm::jinja
