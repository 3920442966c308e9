#include "llm/grammar/expression.h"

#include <functional>

#include "llm/grammar/dfa.h"

namespace voltpile::llm {
namespace {

using Kind = Expression::Kind;

std::shared_ptr<Expression> new_expression(Kind kind) {
    auto made = std::make_shared<Expression>();
    made->kind = kind;
    return made;
}

// Rules of at most this many parts are copied into every caller.
constexpr int small_rule = 24;

int parts_in(const Expression& expression) {
    int count = 1;
    for (const ExpressionPtr& part : expression.parts) count += parts_in(*part);
    if (expression.kind == Kind::Machine) count += small_rule;
    if (expression.kind == Kind::Repeat) count *= std::max({1, expression.least, expression.most});
    return std::min(count, 1 << 20);
}

void for_each_call(const Expression& expression, const std::function<void(int)>& found) {
    if (expression.kind == Kind::Call) found(expression.rule);
    for (const ExpressionPtr& part : expression.parts) for_each_call(*part, found);
}

ExpressionPtr with_bodies(const ExpressionPtr& expression, const std::vector<ExpressionPtr>& bodies) {
    if (expression->kind == Kind::Call) {
        const ExpressionPtr& body = bodies[static_cast<std::size_t>(expression->rule)];
        return body ? body : expression;
    }
    if (expression->parts.empty()) return expression;
    auto copy = std::make_shared<Expression>(*expression);
    for (ExpressionPtr& part : copy->parts) part = with_bodies(part, bodies);
    return copy;
}

// The rules in the order in which all that a rule calls comes before it, as far as they are not recursive.
struct CallOrder {
    std::vector<int> order;
    std::vector<bool> recursive;  // calls itself, perhaps through others
};

CallOrder call_order(const std::vector<std::vector<int>>& calls) {
    const std::size_t count = calls.size();
    CallOrder result{{}, std::vector<bool>(count, false)};
    std::vector<int> waiting(count, 0);
    std::vector<std::vector<int>> callers(count);
    for (std::size_t r = 0; r < count; ++r)
        for (const int called : calls[r]) {
            ++waiting[r];
            callers[static_cast<std::size_t>(called)].push_back(static_cast<int>(r));
        }
    for (std::size_t r = 0; r < count; ++r)
        if (waiting[r] == 0) result.order.push_back(static_cast<int>(r));
    for (std::size_t i = 0; i < result.order.size(); ++i)
        for (const int caller : callers[static_cast<std::size_t>(result.order[i])])
            if (--waiting[static_cast<std::size_t>(caller)] == 0) result.order.push_back(caller);
    for (std::size_t r = 0; r < count; ++r) {
        if (waiting[r] == 0) continue;
        result.recursive[r] = true;  // or calls a rule that is
        result.order.push_back(static_cast<int>(r));
    }
    return result;
}

}  // namespace

ByteSet byte_range(unsigned first, unsigned last) {
    ByteSet set;
    for (unsigned byte = first; byte <= last; ++byte) set.set(byte);
    return set;
}

ExpressionPtr bytes_in(const ByteSet& bytes) {
    auto made = new_expression(Kind::Bytes);
    made->bytes = bytes;
    return made;
}

ExpressionPtr literal(std::string_view text) {
    auto made = new_expression(Kind::Sequence);
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        made->parts.push_back(bytes_in(byte_range(byte, byte)));
    }
    return made;
}

ExpressionPtr sequence(std::vector<ExpressionPtr> parts) {
    if (parts.size() == 1) return parts.front();
    auto made = new_expression(Kind::Sequence);
    made->parts = std::move(parts);
    return made;
}

ExpressionPtr choice(std::vector<ExpressionPtr> parts) {
    if (parts.size() == 1) return parts.front();
    auto made = new_expression(Kind::Choice);
    made->parts = std::move(parts);
    return made;
}

ExpressionPtr repeat(ExpressionPtr part, int least, int most) {
    auto made = new_expression(Kind::Repeat);
    made->parts.push_back(std::move(part));
    made->least = least;
    made->most = most;
    return made;
}

ExpressionPtr optional(ExpressionPtr part) {
    return repeat(std::move(part), 0, 1);
}

ExpressionPtr call(int rule) {
    auto made = new_expression(Kind::Call);
    made->rule = rule;
    return made;
}

ExpressionPtr machine(Dfa dfa) {
    auto made = new_expression(Kind::Machine);
    made->machine = std::make_shared<const Dfa>(std::move(dfa));
    return made;
}

void inline_rules(GrammarRules& grammar) {
    const std::size_t count = grammar.rules.size();
    std::vector<std::vector<int>> calls(count);
    std::vector<int> uses(count, 0);
    for (std::size_t r = 0; r < count; ++r)
        for_each_call(*grammar.rules[r].body, [&](int called) {
            calls[r].push_back(called);
            ++uses[static_cast<std::size_t>(called)];
        });
    const CallOrder order = call_order(calls);
    std::vector<ExpressionPtr> bodies(count);  // of the rules that are copied into their callers
    for (const int rule : order.order) {
        const auto r = static_cast<std::size_t>(rule);
        GrammarRule& each = grammar.rules[r];
        each.body = with_bodies(each.body, bodies);
        const bool copied = !each.shared && !order.recursive[r];
        if (copied && (uses[r] == 1 || parts_in(*each.body) <= small_rule)) bodies[r] = each.body;
    }
}

}  // namespace voltpile::llm
