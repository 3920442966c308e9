#include "llm/grammar/nfa.h"

#include <stdexcept>
#include <unordered_map>

namespace voltpile::llm {
namespace {

class NfaBuilder {
  public:
    explicit NfaBuilder(WorkLimit& limit) : limit_(limit) {}

    Nfa build(const Expression& expression) {
        nfa_.start = add_state();
        nfa_.end = add(expression, nfa_.start);
        return std::move(nfa_);
    }

  private:
    int add_state() {
        limit_.steps(200);  // for its memory
        nfa_.states.emplace_back();
        return static_cast<int>(nfa_.states.size()) - 1;
    }
    Nfa::State& state(int index) { return nfa_.states[static_cast<std::size_t>(index)]; }

    int set_index(const ByteSet& set) {
        const auto [place, is_new] = index_of_.try_emplace(set, static_cast<int>(nfa_.sets.size()));
        if (is_new) nfa_.sets.push_back(set);
        return place->second;
    }

    // Adds what reads `expression` from state `from` on; returns the state after it, which is new or `from`.
    int add(const Expression& expression, int from) {
        switch (expression.kind) {
            case Expression::Kind::Bytes: {
                const int to = add_state();
                if (expression.bytes.any())
                    state(from).edges.push_back({set_index(expression.bytes), -1, to});
                return to;
            }
            case Expression::Kind::Sequence:
                for (const ExpressionPtr& part : expression.parts) from = add(*part, from);
                return from;
            case Expression::Kind::Choice: {
                const int to = add_state();
                for (const ExpressionPtr& part : expression.parts) {
                    const int begin = add_state();
                    state(from).free.push_back(begin);
                    const int end = add(*part, begin);
                    state(end).free.push_back(to);
                }
                return to;
            }
            case Expression::Kind::Repeat:
                return add_repeat(expression, from);
            case Expression::Kind::Call: {
                const int to = add_state();
                state(from).edges.push_back({-1, expression.rule, to});
                return to;
            }
            case Expression::Kind::Machine:
                return add_machine(*expression.machine, from);
        }
        throw std::logic_error("unknown kind of expression");
    }

    int add_repeat(const Expression& expression, int from) {
        const Expression& part = *expression.parts.front();
        for (int i = 0; i < expression.least; ++i) from = add(part, from);
        const int to = add_state();
        if (expression.most < 0) {
            const int loop = add_state();
            state(from).free.push_back(loop);
            const int end = add(part, loop);
            state(end).free.push_back(loop);
            state(loop).free.push_back(to);
            return to;
        }
        for (int i = expression.least; i < expression.most; ++i) {
            state(from).free.push_back(to);
            const int begin = add_state();  // `from` may have edges back to it
            state(from).free.push_back(begin);
            from = add(part, begin);
        }
        state(from).free.push_back(to);
        return to;
    }

    int add_machine(const Dfa& dfa, int from) {
        const int first = static_cast<int>(nfa_.states.size());
        for (int s = 0; s < dfa.states(); ++s) add_state();
        const int to = add_state();
        state(from).free.push_back(first);
        for (int s = 0; s < dfa.states(); ++s) {
            if (dfa.accepts[static_cast<std::size_t>(s)]) state(first + s).free.push_back(to);
            std::unordered_map<int, ByteSet> by_target;
            for (std::size_t byte = 0; byte < 256; ++byte) {
                const int target = dfa.after(s, dfa.class_of[byte]);
                if (target >= 0) by_target[target].set(byte);
            }
            for (const auto& [target, set] : by_target)
                state(first + s).edges.push_back({set_index(set), -1, first + target});
            limit_.steps(256);
        }
        return to;
    }

    WorkLimit& limit_;
    Nfa nfa_;
    std::unordered_map<ByteSet, int> index_of_;
};

}  // namespace

Nfa to_nfa(const Expression& expression, WorkLimit& limit) {
    return NfaBuilder(limit).build(expression);
}

}  // namespace voltpile::llm
