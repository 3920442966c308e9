#include "llm/grammar/dfa.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "llm/grammar/nfa.h"

namespace voltpile::llm {
namespace {

using StateList = std::vector<int>;  // of an Nfa, ascending

struct HashOfStates {
    std::size_t operator()(const StateList& states) const {
        std::size_t hash = states.size();
        for (const int state : states)
            hash = (hash ^ static_cast<std::size_t>(state)) * 0x9E3779B97F4A7C15u + (hash >> 29);
        return hash;
    }
};

// The subset construction.
class Determinizer {
  public:
    Determinizer(const Nfa& nfa, WorkLimit& limit) : nfa_(nfa), limit_(limit), seen_(nfa.states.size(), 0) {
        for (const ByteSet& set : nfa.sets) {
            split_classes(dfa_.class_of, dfa_.classes, set);
            limit_.steps(256);
        }
        for (const ByteSet& set : nfa.sets) {
            std::vector<bool> within(static_cast<std::size_t>(dfa_.classes), false);
            for (std::size_t byte = 0; byte < 256; ++byte)
                if (set[byte]) within[dfa_.class_of[byte]] = true;
            std::vector<int>& classes = classes_of_set_.emplace_back();
            for (int c = 0; c < dfa_.classes; ++c)
                if (within[static_cast<std::size_t>(c)]) classes.push_back(c);
        }
    }

    Dfa build() {
        state_after({nfa_.start});
        for (int s = 0; s < dfa_.states(); ++s) add_edges(s);
        return std::move(dfa_);
    }

  private:
    // Returns the state for all that can be reached from `targets` without reading. Two sets that differ
    // only in states without edges are the same.
    int state_after(const StateList& targets) {
        if (const auto known = known_targets_.find(targets); known != known_targets_.end())
            return known->second;
        ++stamp_;
        StateList stack = targets, members;
        bool accepts = false;
        for (const int state : targets) seen_[static_cast<std::size_t>(state)] = stamp_;
        while (!stack.empty()) {
            const int state = stack.back();
            stack.pop_back();
            const Nfa::State& each = nfa_.states[static_cast<std::size_t>(state)];
            limit_.steps(1 + std::ssize(each.free));
            accepts = accepts || state == nfa_.end;
            if (!each.edges.empty()) members.push_back(state);
            for (const int to : each.free)
                if (std::exchange(seen_[static_cast<std::size_t>(to)], stamp_) != stamp_) stack.push_back(to);
        }
        std::ranges::sort(members);
        if (accepts) members.push_back(-1);
        const auto [place, is_new] = states_.try_emplace(members, dfa_.states());
        if (is_new) {
            limit_.states(1);
            if (accepts) members.pop_back();
            members_.push_back(std::move(members));
            dfa_.accepts.push_back(accepts);
            dfa_.calls.emplace_back();
            dfa_.next.resize(dfa_.next.size() + static_cast<std::size_t>(dfa_.classes), -1);
            limit_.steps(dfa_.classes);
        }
        known_targets_.emplace(targets, place->second);
        return place->second;
    }

    void add_edges(int s) {
        std::vector<StateList> by_class(static_cast<std::size_t>(dfa_.classes));
        std::map<int, StateList> by_rule;
        for (const int member : members_[static_cast<std::size_t>(s)])
            for (const Nfa::Edge& edge : nfa_.states[static_cast<std::size_t>(member)].edges) {
                if (edge.rule >= 0) {
                    by_rule[edge.rule].push_back(edge.target);
                    continue;
                }
                const std::vector<int>& classes = classes_of_set_[static_cast<std::size_t>(edge.set)];
                limit_.steps(std::ssize(classes));
                for (const int c : classes) by_class[static_cast<std::size_t>(c)].push_back(edge.target);
            }
        const auto unique = [](StateList& targets) {
            std::ranges::sort(targets);
            targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
        };
        for (int c = 0; c < dfa_.classes; ++c) {
            StateList& targets = by_class[static_cast<std::size_t>(c)];
            if (targets.empty()) continue;
            unique(targets);
            const int to = state_after(targets);
            dfa_.at(s, c) = to;
        }
        for (auto& [rule, targets] : by_rule) {
            unique(targets);
            const int to = state_after(targets);
            dfa_.calls[static_cast<std::size_t>(s)].push_back({rule, to});
        }
    }

    const Nfa& nfa_;
    WorkLimit& limit_;
    Dfa dfa_;
    std::vector<std::vector<int>> classes_of_set_;
    std::unordered_map<StateList, int, HashOfStates> states_, known_targets_;
    std::vector<StateList> members_;  // by state of the Dfa
    std::vector<int> seen_;
    int stamp_ = 0;
};

}  // namespace

void WorkLimit::states(std::int64_t count) {
    if ((states_left_ -= count) < 0)
        throw JobError(fmt::format(
            "the grammar needs more than {} states: use smaller repeat counts and lengths", most_states));
}

void WorkLimit::steps(std::int64_t count) {
    if ((steps_left_ -= count) < 0)
        throw JobError(
            "the grammar is too large to compile: use smaller repeat counts and fewer alternatives");
}

void split_classes(std::array<std::uint8_t, 256>& class_of, int& classes, const ByteSet& set) {
    std::array<int, 256> inside, outside;  // the class of the bytes within and without
    inside.fill(-1);
    outside.fill(-1);
    int count = 0;
    for (std::size_t byte = 0; byte < 256; ++byte) {
        int& wanted = (set[byte] ? inside : outside)[class_of[byte]];
        if (wanted < 0) wanted = count++;
        class_of[byte] = static_cast<std::uint8_t>(wanted);
    }
    classes = count;
}

void split_classes(std::array<std::uint8_t, 256>& class_of, int& classes, const Dfa& dfa) {
    std::map<std::pair<int, int>, int> both;
    for (std::size_t byte = 0; byte < 256; ++byte) {
        const std::pair<int, int> key{class_of[byte], dfa.class_of[byte]};
        class_of[byte] =
            static_cast<std::uint8_t>(both.try_emplace(key, static_cast<int>(both.size())).first->second);
    }
    classes = static_cast<int>(both.size());
}

Dfa to_dfa(const Expression& expression, WorkLimit& limit) {
    const Nfa nfa = to_nfa(expression, limit);
    return Determinizer(nfa, limit).build();
}

Dfa product(const Dfa& a, const Dfa& b, DfaProduct kind, WorkLimit& limit) {
    Dfa made;
    split_classes(made.class_of, made.classes, a);
    split_classes(made.class_of, made.classes, b);
    std::vector<std::uint8_t> byte_of(static_cast<std::size_t>(made.classes));
    for (std::size_t byte = 256; byte-- > 0;) byte_of[made.class_of[byte]] = static_cast<std::uint8_t>(byte);

    std::map<std::pair<int, int>, int> index;
    std::vector<std::pair<int, int>> pairs;
    const auto state_of = [&](int in_a, int in_b) {  // in_b is -1 where b matches nothing more
        const auto [place, is_new] = index.try_emplace({in_a, in_b}, static_cast<int>(pairs.size()));
        if (is_new) {
            limit.states(1);
            pairs.emplace_back(in_a, in_b);
        }
        return place->second;
    };
    state_of(0, 0);
    for (std::size_t s = 0; s < pairs.size(); ++s) {
        const auto [in_a, in_b] = pairs[s];
        const bool b_accepts = in_b >= 0 && b.accepts[static_cast<std::size_t>(in_b)];
        made.accepts.push_back(a.accepts[static_cast<std::size_t>(in_a)] &&
                               b_accepts == (kind == DfaProduct::Both));
        made.calls.emplace_back();
        limit.steps(made.classes);
        for (int c = 0; c < made.classes; ++c) {
            const std::uint8_t byte = byte_of[static_cast<std::size_t>(c)];
            const int to_a = a.after(in_a, a.class_of[byte]);
            const int to_b = in_b < 0 ? -1 : b.after(in_b, b.class_of[byte]);
            const bool ends = to_a < 0 || (to_b < 0 && kind == DfaProduct::Both);
            made.next.push_back(ends ? -1 : state_of(to_a, to_b));
        }
    }
    trim(made, [](int) { return false; });
    return made;
}

bool trim(Dfa& dfa, const std::function<bool(int)>& can_match) {
    const int states = dfa.states();
    std::vector<StateList> before(static_cast<std::size_t>(states));
    for (int s = 0; s < states; ++s) {
        auto& calls = dfa.calls[static_cast<std::size_t>(s)];
        std::erase_if(calls, [&](const Dfa::CallEdge& each) { return !can_match(each.rule); });
        for (const Dfa::CallEdge& each : calls) before[static_cast<std::size_t>(each.target)].push_back(s);
        for (int c = 0; c < dfa.classes; ++c)
            if (dfa.after(s, c) >= 0) before[static_cast<std::size_t>(dfa.after(s, c))].push_back(s);
    }
    std::vector<bool> ends(static_cast<std::size_t>(states), false);
    StateList stack;
    for (int s = 0; s < states; ++s)
        if (dfa.accepts[static_cast<std::size_t>(s)]) {
            ends[static_cast<std::size_t>(s)] = true;
            stack.push_back(s);
        }
    while (!stack.empty()) {
        const int s = stack.back();
        stack.pop_back();
        for (const int from : before[static_cast<std::size_t>(s)])
            if (!ends[static_cast<std::size_t>(from)]) {
                ends[static_cast<std::size_t>(from)] = true;
                stack.push_back(from);
            }
    }

    // Renumbers what is left, from the start on.
    Dfa kept;
    kept.class_of = dfa.class_of;
    kept.classes = dfa.classes;
    std::vector<int> number(static_cast<std::size_t>(states), -1);
    StateList old{0};
    number[0] = 0;
    const auto renumbered = [&](int state) {
        if (state < 0 || !ends[static_cast<std::size_t>(state)]) return -1;
        int& known = number[static_cast<std::size_t>(state)];
        if (known < 0) {
            known = static_cast<int>(old.size());
            old.push_back(state);
        }
        return known;
    };
    for (std::size_t s = 0; s < old.size(); ++s) {
        const auto from = static_cast<std::size_t>(old[s]);
        kept.accepts.push_back(dfa.accepts[from]);
        for (int c = 0; c < dfa.classes; ++c)
            kept.next.push_back(renumbered(dfa.after(static_cast<int>(from), c)));
        auto& calls = kept.calls.emplace_back();
        for (const Dfa::CallEdge& each : dfa.calls[from]) {
            const int target = renumbered(each.target);
            if (target >= 0) calls.push_back({each.rule, target});
        }
    }
    const bool matches = ends[0];
    dfa = std::move(kept);
    return matches;
}

}  // namespace voltpile::llm
