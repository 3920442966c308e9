#include "llm/grammar/token_masks.h"

#include <algorithm>
#include <bit>

namespace voltpile::llm {
namespace {

// Longer keys, of deep stacks, are unlikely to come up again.
constexpr std::size_t longest_key = 200;

// The states of the stacks from top to bottom, with -1 after each stack. Empty: too long.
std::vector<int> key_of(const Configuration& now, bool at_start) {
    std::vector<std::vector<int>> stacks;
    std::size_t length = 0;
    for (const Stack& stack : now.stacks) {
        length += static_cast<std::size_t>(stack.below ? stack.below->depth : 0) + 2;
        if (length > longest_key) return {};
        std::vector<int>& states = stacks.emplace_back();
        states.push_back(stack.state);
        for (const Frame* frame = stack.below.get(); frame != nullptr; frame = frame->below.get())
            states.push_back(frame->state);
        states.push_back(-1);
    }
    std::ranges::sort(stacks);  // equal sets of stacks may come in any order
    std::vector<int> key{now.complete ? 1 : 0, at_start ? 1 : 0};
    for (const auto& each : stacks) key.insert(key.end(), each.begin(), each.end());
    return key;
}

}  // namespace

// Walks through the trie and collects the tokens that the automaton can read.
class TokenMasks::Walk {
  public:
    // exits: where to note nodes at which a stack has ended, or nullptr.
    Walk(const Automaton& automaton, const TokenTrie& trie, TokenMask& mask, std::vector<int>* exits)
        : automaton_(automaton), trie_(trie), mask_(mask), exits_(exits) {}

    // Reads the nodes below `node`, in which the automaton is in this configuration.
    void below(int node, const Configuration& now) {
        if (now.stacks.size() == 1) return below(node, now.stacks.front());
        for (int child = node + 1; child < trie_.end(node); child = trie_.end(child))
            enter(child, after_byte(automaton_, now, trie_.byte(child)));
    }

    // The same with a single stack. Reading a byte is then one look into a table, as long as nothing is
    // called and nothing ends.
    void below(int node, const Stack& stack) {
        const int depth = trie_.depth(node);
        std::vector<int> states{stack.state};  // by depth below `node`
        for (int at = node + 1, end = trie_.end(node); at < end;) {
            const auto d = static_cast<std::size_t>(trie_.depth(at) - depth);
            const int state = automaton_.after(states[d - 1], trie_.byte(at));
            if (state == Automaton::none) {
                at = trie_.end(at);
            } else if (!automaton_.plain(state)) {
                enter(at, configuration_of(automaton_, {state, stack.below}));
                at = trie_.end(at);
            } else {
                states.resize(std::max(states.size(), d + 1));
                states[d] = state;
                allow(at++);
            }
        }
    }

  private:
    void enter(int node, const Configuration& now) {
        if (now.dead()) return;
        allow(node);
        if (now.complete && exits_ != nullptr) exits_->push_back(node);
        if (!now.stacks.empty()) below(node, now);
    }

    void allow(int node) {
        for (const TokenId token : trie_.tokens(node))
            mask_[static_cast<std::size_t>(token) / 32] |= 1u << (token % 32);
    }

    const Automaton& automaton_;
    const TokenTrie& trie_;
    TokenMask& mask_;
    std::vector<int>* exits_;
};

void TokenMasks::count_bytes(std::size_t bytes) {
    bytes_ += bytes;
    if (bytes_ <= most_bytes) return;
    of_state_.clear();
    known_.clear();
    bytes_ = bytes;
}

std::shared_ptr<const TokenMasks::OfState> TokenMasks::of_state(int state) {
    if (const auto known = of_state_.find(state); known != of_state_.end()) return known->second;
    auto made = std::make_shared<OfState>();
    TokenMask mask((static_cast<std::size_t>(trie_.vocabulary()) + 31) / 32, 0);
    Walk(automaton_, trie_, mask, &made->exits).below(0, Stack{state, nullptr});
    std::size_t count = 0;
    for (const std::uint32_t word : mask) count += static_cast<std::size_t>(std::popcount(word));
    if (count <= mask.size()) {
        for (TokenId token = 0; token < trie_.vocabulary(); ++token)
            if (allows(mask, token)) made->few.push_back(token);
    } else {
        made->many = std::move(mask);
    }
    count_bytes((made->few.size() + made->many.size() + made->exits.size()) * sizeof(int) + sizeof(OfState));
    return of_state_.emplace(state, std::move(made)).first->second;
}

// Adds the tokens that one stack can read.
void TokenMasks::add_state(const Stack& stack, TokenMask& to) {
    const std::shared_ptr<const OfState> top = of_state(stack.state);
    for (const TokenId token : top->few) to[static_cast<std::size_t>(token) / 32] |= 1u << (token % 32);
    for (std::size_t i = 0; i < top->many.size(); ++i) to[i] |= top->many[i];
    if (!stack.below || top->exits.empty()) return;
    const Configuration after = configuration_of(automaton_, {stack.below->state, stack.below->below});
    Walk walk(automaton_, trie_, to, nullptr);
    for (const int exit : top->exits) walk.below(exit, after);
}

std::shared_ptr<const TokenMask> TokenMasks::mask(const Configuration& now, bool at_start) {
    const bool drops_space = at_start && trie_.drops_first_space();
    const std::vector<int> key = key_of(now, drops_space);
    const std::lock_guard lock(mutex_);
    if (const auto known = known_.find(key); known != known_.end()) return known->second;
    auto mask = std::make_shared<TokenMask>((static_cast<std::size_t>(trie_.vocabulary()) + 31) / 32, 0);
    for (const Stack& stack : now.stacks) add_state(stack, *mask);
    if (drops_space) {
        // Tokens that begin with a space are read without it.
        for (int node = 1; node < trie_.nodes(); node = trie_.end(node)) {
            if (trie_.byte(node) != ' ') continue;
            for (int below = node; below < trie_.end(node); ++below)
                for (const TokenId token : trie_.tokens(below))
                    (*mask)[static_cast<std::size_t>(token) / 32] &= ~(1u << (token % 32));
            Walk(automaton_, trie_, *mask, nullptr).below(node, now);
        }
    }
    if (now.complete)
        for (const TokenId token : trie_.end_ids())
            (*mask)[static_cast<std::size_t>(token) / 32] |= 1u << (token % 32);
    if (!key.empty()) {
        count_bytes((mask->size() + key.size()) * sizeof(int) + 100);
        known_.emplace(key, mask);
    }
    return mask;
}

}  // namespace voltpile::llm
