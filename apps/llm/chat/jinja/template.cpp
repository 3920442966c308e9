#include "llm/chat/jinja/template.h"

#include <fmt/format.h>

#include "base/error.h"
#include "llm/chat/jinja/interpreter.h"
#include "llm/chat/jinja/parser.h"
#include "llm/tokenizer/utf8.h"

namespace voltpile::llm::jinja {

struct Template::Tree {
    Body body;
};

Template::Template(std::string_view source, std::string_view where) : where_(where) {
    check_utf8(source, fmt::format("{}: chat template", where));
    try {
        tree_ = std::make_shared<const Tree>(Parser(source).parse());
    } catch (const SyntaxProblem& problem) {
        throw JobError(fmt::format("{}: chat template, line {}: {}", where, problem.line, problem.message));
    }
}

std::string Template::render(const Entries& variables, std::optional<std::time_t> now) const {
    Interpreter interpreter(variables, now.value_or(std::time(nullptr)));
    try {
        return interpreter.render(tree_->body);
    } catch (const Refusal& refusal) {
        throw JobError(fmt::format("{}: the chat template refuses the messages: {}", where_, refusal.what()));
    } catch (const Problem& problem) {
        throw JobError(
            fmt::format("{}: chat template, line {}: {}", where_, interpreter.line(), problem.what()));
    }
}

}  // namespace voltpile::llm::jinja
