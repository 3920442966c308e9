// Expressions over bytes: the common form of regular expressions, JSON schemas and grammar files. A rule is a
// named expression, and an expression may call rules, also recursively.
#pragma once

#include <bitset>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace voltpile::llm {

using ByteSet = std::bitset<256>;
ByteSet byte_range(unsigned first, unsigned last);

struct Dfa;
struct Expression;
using ExpressionPtr = std::shared_ptr<const Expression>;  // parts are shared, never changed

struct Expression {
    enum class Kind {
        Bytes,     // one byte of `bytes`
        Sequence,  // `parts` one after the other; none: the empty text
        Choice,    // one of `parts`; none: matches nothing
        Repeat,    // parts[0] at least `least` and at most `most` times; most -1: without limit
        Call,      // what `rule` matches
        Machine,   // what `machine`, which calls no rules, matches
    };
    Kind kind = Kind::Sequence;
    ByteSet bytes;
    std::vector<ExpressionPtr> parts;
    int least = 0;
    int most = -1;
    int rule = -1;
    std::shared_ptr<const Dfa> machine;
};

ExpressionPtr bytes_in(const ByteSet& bytes);
ExpressionPtr literal(std::string_view text);
ExpressionPtr sequence(std::vector<ExpressionPtr> parts);
ExpressionPtr choice(std::vector<ExpressionPtr> parts);
ExpressionPtr repeat(ExpressionPtr part, int least, int most);
ExpressionPtr optional(ExpressionPtr part);
ExpressionPtr call(int rule);
ExpressionPtr machine(Dfa dfa);

struct GrammarRule {
    std::string name;  // for messages
    ExpressionPtr body;
    // Never copied into its callers: its states are shared by all of them, and so are their token masks.
    bool shared = false;
};

struct GrammarRules {
    std::vector<GrammarRule> rules;
    int root = 0;

    // Adds a rule and returns its number.
    int add(std::string name, ExpressionPtr body, bool shared = false) {
        rules.push_back({std::move(name), std::move(body), shared});
        return static_cast<int>(rules.size()) - 1;
    }
};

// Copies rules that are small, or called once, into their callers, except recursive and shared ones. The
// automaton of a rule is deterministic, so this avoids work at run time.
void inline_rules(GrammarRules& grammar);

}  // namespace voltpile::llm
