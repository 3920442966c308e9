#include "llm/grammar/automaton.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/error.h"
#include "llm/grammar/nesting.h"

namespace voltpile::llm {
namespace {

// What can be said of a rule once those are known that it calls: whether `wanted` holds for some state that
// its start reaches through the calls that `through` admits.
bool reaches(const Dfa& dfa, const std::function<bool(int)>& through, const std::function<void(int)>& visit) {
    std::vector<bool> seen(static_cast<std::size_t>(dfa.states()), false);
    std::vector<int> stack{0};
    seen[0] = true;
    bool accepts = false;
    while (!stack.empty()) {
        const auto s = static_cast<std::size_t>(stack.back());
        stack.pop_back();
        accepts = accepts || dfa.accepts[s];
        for (const Dfa::CallEdge& each : dfa.calls[s]) {
            visit(each.rule);
            if (!through(each.rule) || seen[static_cast<std::size_t>(each.target)]) continue;
            seen[static_cast<std::size_t>(each.target)] = true;
            stack.push_back(each.target);
        }
    }
    return accepts;
}

// Throws if a rule can call itself before it reads a byte.
void refuse_left_recursion(const std::vector<Dfa>& dfas, const GrammarRules& grammar) {
    const std::size_t count = dfas.size();
    std::vector<bool> empty(count, false);  // matches the empty text
    const auto is_empty = [&](int rule) { return static_cast<bool>(empty[static_cast<std::size_t>(rule)]); };
    for (bool changed = true; changed;) {
        changed = false;
        for (std::size_t r = 0; r < count; ++r) {
            if (empty[r] || !reaches(dfas[r], is_empty, [](int) {})) continue;
            empty[r] = changed = true;
        }
    }
    std::vector<std::vector<int>> first_calls(count);
    for (std::size_t r = 0; r < count; ++r)
        reaches(dfas[r], is_empty, [&](int rule) { first_calls[r].push_back(rule); });
    // Takes away rules that call none of the others first; what stays is a circle or leads to one.
    std::vector<bool> gone(count, false);
    for (bool changed = true; changed;) {
        changed = false;
        for (std::size_t r = 0; r < count; ++r) {
            if (gone[r] || !std::ranges::all_of(first_calls[r], [&](int called) {
                    return static_cast<bool>(gone[static_cast<std::size_t>(called)]);
                }))
                continue;
            gone[r] = changed = true;
        }
    }
    const auto left = std::ranges::find(gone, false);
    if (left == gone.end()) return;
    // From there to a rule on the circle.
    auto rule = static_cast<std::size_t>(left - gone.begin());
    for (std::size_t i = 0; i < count; ++i)
        rule = static_cast<std::size_t>(*std::ranges::find_if(
            first_calls[rule], [&](int called) { return !gone[static_cast<std::size_t>(called)]; }));
    throw JobError(fmt::format("'{}' refers to itself before it reads any text", grammar.rules[rule].name));
}

// The root and the rules that it calls, directly or through others.
std::vector<bool> used_rules(const std::vector<Dfa>& dfas, int root) {
    std::vector<bool> used(dfas.size(), false);
    std::vector<int> stack{root};
    used[static_cast<std::size_t>(root)] = true;
    while (!stack.empty()) {
        const Dfa& dfa = dfas[static_cast<std::size_t>(stack.back())];
        stack.pop_back();
        for (const auto& calls : dfa.calls)
            for (const Dfa::CallEdge& each : calls) {
                if (used[static_cast<std::size_t>(each.rule)]) continue;
                used[static_cast<std::size_t>(each.rule)] = true;
                stack.push_back(each.rule);
            }
    }
    return used;
}

// Removes what cannot be matched to its end.
void trim_all(std::vector<Dfa>& dfas, const std::vector<bool>& used, int root) {
    const std::size_t count = dfas.size();
    std::vector<bool> matches(count, false);
    const auto can_match = [&](int rule) {
        return static_cast<bool>(matches[static_cast<std::size_t>(rule)]);
    };
    for (bool changed = true; changed;) {
        changed = false;
        for (std::size_t r = 0; r < count; ++r) {
            if (matches[r] || !used[r]) continue;
            Dfa copy = dfas[r];
            if (trim(copy, can_match)) matches[r] = changed = true;
        }
    }
    if (!can_match(root)) throw JobError("no text satisfies the grammar");
    for (std::size_t r = 0; r < count; ++r)
        if (matches[r]) trim(dfas[r], can_match);
}

bool same_frames(const Frame* a, const Frame* b) {
    while (a != b) {
        if (a == nullptr || b == nullptr || a->hash != b->hash || a->state != b->state) return false;
        a = a->below.get();
        b = b->below.get();
    }
    return true;
}

FramePtr new_frame(int state, const FramePtr& below) {
    const int depth = depth_of(below) + 1;
    std::uint64_t hash = (below ? below->hash : 0x243F6A8885A308D3u) ^ static_cast<std::uint64_t>(state);
    hash *= 0x9E3779B97F4A7C15u;
    return std::make_shared<const Frame>(Frame{state, below, depth, hash ^ (hash >> 31)});
}

// Adds stacks to a configuration, with all that they may go on to without reading a byte.
class Closure {
  public:
    Closure(const Automaton& automaton, Configuration& to) : automaton_(automaton), to_(to) {}

    void add(const Stack& stack) {
        const int state = stack.state;
        const int room = kMostDepth - depth_of(stack.below);
        if (automaton_.nesting_needed(state) > room) return;
        if (!automaton_.plain(state)) {
            if (!is_new(visited_, stack)) return;
            if (automaton_.accepts(state)) {
                if (stack.below)
                    add({stack.below->state, stack.below->below});
                else
                    to_.complete = true;
            }
            for (const Automaton::Call& each : automaton_.calls(state)) {
                if (each.last)
                    add({each.start, stack.below});
                else if (room > 0 && automaton_.nesting_needed(each.target) <= room)
                    add({each.start, new_frame(each.target, stack.below)});
            }
        }
        if (automaton_.reads(state)) is_new(to_.stacks, stack);
    }

  private:
    static bool is_new(std::vector<Stack>& known, const Stack& stack) {
        for (const Stack& each : known)
            if (each.state == stack.state && same_frames(each.below.get(), stack.below.get())) return false;
        if (known.size() == kMostStacks) return false;
        known.push_back(stack);
        return true;
    }

    const Automaton& automaton_;
    Configuration& to_;
    std::vector<Stack> visited_;
};

}  // namespace

Automaton::Automaton(GrammarRules grammar, WorkLimit& limit) {
    inline_rules(grammar);
    const std::size_t count = grammar.rules.size();
    std::vector<Dfa> dfas(count);
    // Only rules that the root still calls.
    std::vector<bool> made(count, false);
    std::vector<int> waiting{grammar.root};
    made[static_cast<std::size_t>(grammar.root)] = true;
    while (!waiting.empty()) {
        const auto r = static_cast<std::size_t>(waiting.back());
        waiting.pop_back();
        dfas[r] = to_dfa(*grammar.rules[r].body, limit);
        for (const auto& calls : dfas[r].calls)
            for (const Dfa::CallEdge& each : calls) {
                if (made[static_cast<std::size_t>(each.rule)]) continue;
                made[static_cast<std::size_t>(each.rule)] = true;
                waiting.push_back(each.rule);
            }
    }
    for (std::size_t r = 0; r < count; ++r)
        if (!made[r]) dfas[r] = {{}, 1, {-1}, {{}}, {false}};
    trim_all(dfas, made, grammar.root);
    refuse_left_recursion(dfas, grammar);
    const std::vector<bool> used = used_rules(dfas, grammar.root);
    for (std::size_t r = 0; r < count; ++r)
        if (used[r]) split_classes(class_of_, classes_, dfas[r]);
    join(dfas, used);
    int first = 0;
    for (std::size_t r = 0; r < static_cast<std::size_t>(grammar.root); ++r)
        if (used[r]) first += dfas[r].states();
    start_ = first;
    if (std::ranges::any_of(calls_, [](const std::vector<Call>& calls) { return !calls.empty(); }))
        nesting_needed_ = voltpile::llm::nesting_needed(*this);
    else
        nesting_needed_.resize(accepts_.size(), 0);
    most_nesting_needed_ = std::ranges::max(nesting_needed_);
    if (nesting_needed(start_) > kMostDepth)
        throw JobError(fmt::format("every text nests more than {} rules", kMostDepth));
}

// Puts the states of all rules into one table.
void Automaton::join(const std::vector<Dfa>& dfas, const std::vector<bool>& used) {
    std::vector<std::uint8_t> byte_of(static_cast<std::size_t>(classes_));
    for (std::size_t byte = 256; byte-- > 0;) byte_of[class_of_[byte]] = static_cast<std::uint8_t>(byte);
    std::vector<int> first(dfas.size(), 0);
    int states = 0;
    for (std::size_t r = 0; r < dfas.size(); ++r) {
        first[r] = states;
        if (used[r]) states += dfas[r].states();
    }
    for (std::size_t r = 0; r < dfas.size(); ++r) {
        if (!used[r]) continue;
        const Dfa& dfa = dfas[r];
        for (int s = 0; s < dfa.states(); ++s) {
            bool reads = false;
            for (const std::uint8_t byte : byte_of) {
                const int to = dfa.after(s, dfa.class_of[byte]);
                reads = reads || to >= 0;
                next_.push_back(to < 0 ? none : first[r] + to);
            }
            const auto at = static_cast<std::size_t>(s);
            accepts_.push_back(dfa.accepts[at] ? 1 : 0);
            reads_.push_back(reads ? 1 : 0);
            plain_.push_back(!dfa.accepts[at] && dfa.calls[at].empty() ? 1 : 0);
            std::vector<Call>& calls = calls_.emplace_back();
            for (const Dfa::CallEdge& each : dfa.calls[at])
                calls.push_back({first[static_cast<std::size_t>(each.rule)], first[r] + each.target, false});
        }
    }
    for (std::vector<Call>& calls : calls_)
        for (Call& each : calls)
            each.last = accepts(each.target) && !reads(each.target) && this->calls(each.target).empty();
}

FramePtr top_frames(const FramePtr& frame, int count) {
    if (!frame || count == 0) return nullptr;
    return new_frame(frame->state, top_frames(frame->below, count - 1));
}

Configuration configuration_of(const Automaton& automaton, const Stack& stack) {
    Configuration made;
    Closure(automaton, made).add(stack);
    return made;
}

Configuration start_of(const Automaton& automaton) {
    return configuration_of(automaton, {automaton.start(), nullptr});
}

Configuration after_byte(const Automaton& automaton, const Configuration& from, std::uint8_t byte) {
    Configuration to;
    Closure closure(automaton, to);
    for (const Stack& each : from.stacks) {
        const int state = automaton.after(each.state, byte);
        if (state != Automaton::none) closure.add({state, each.below});
    }
    return to;
}

}  // namespace voltpile::llm
