#include "llm/grammar/nesting.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <utility>

namespace voltpile::llm {
namespace {

// Lowers the need of states until nothing changes, from the ends of rules backwards.
class NestingSearch {
  public:
    explicit NestingSearch(const Automaton& automaton)
        : automaton_(automaton),
          needs_(static_cast<std::size_t>(automaton.states()), unknown),
          before_(needs_.size()),
          callers_(needs_.size()) {
        for (int state = 0; state < automaton.states(); ++state) {
            int last = Automaton::none;
            for (int byte = 0; byte < 256; ++byte) {
                const int to = automaton.after(state, static_cast<std::uint8_t>(byte));
                if (to != Automaton::none && to != std::exchange(last, to)) before(to).push_back(state);
            }
            for (const Automaton::Call& each : automaton.calls(state))
                for (const int to : {each.start, each.target}) callers_[index(to)].push_back(state);
        }
    }

    std::vector<int> run() {
        for (int state = 0; state < automaton_.states(); ++state)
            if (automaton_.accepts(state)) lower(state, 0);
        while (!changed_.empty()) {
            const int state = changed_.front();
            changed_.pop_front();
            for (const int each : before(state)) lower(each, needs_[index(state)]);
            for (const int each : callers_[index(state)])
                for (const Automaton::Call& call : automaton_.calls(each)) lower(each, need_of(call));
        }
        return std::move(needs_);
    }

  private:
    static constexpr int unknown = std::numeric_limits<int>::max() / 2;
    static std::size_t index(int state) { return static_cast<std::size_t>(state); }
    std::vector<int>& before(int state) { return before_[index(state)]; }

    int need_of(const Automaton::Call& call) const {
        return std::max(needs_[index(call.start)] + (call.last ? 0 : 1), needs_[index(call.target)]);
    }

    void lower(int state, int need) {
        if (need >= needs_[index(state)]) return;
        needs_[index(state)] = need;
        changed_.push_back(state);
    }

    const Automaton& automaton_;
    std::vector<int> needs_;
    std::vector<std::vector<int>> before_, callers_;  // the states with a byte or a call that leads to each
    std::deque<int> changed_;
};

}  // namespace

std::vector<int> nesting_needed(const Automaton& automaton) {
    return NestingSearch(automaton).run();
}

}  // namespace voltpile::llm
