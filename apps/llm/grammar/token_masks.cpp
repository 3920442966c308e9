#include "llm/grammar/token_masks.h"

#include <algorithm>
#include <bit>

namespace voltpile::llm {
namespace {

constexpr int stack_ends = -1;  // in place of the state below

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
        const int depth = trie_.depth(node), room = kMostDepth - depth_of(stack.below);
        std::vector<int> states{stack.state};  // by depth below `node`
        for (int at = node + 1, end = trie_.end(node); at < end;) {
            const auto d = static_cast<std::size_t>(trie_.depth(at) - depth);
            const int state = automaton_.after(states[d - 1], trie_.byte(at));
            if (state == Automaton::none || automaton_.nesting_needed(state) > room) {
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
    of_stack_.clear();
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

TokenMasks::OfStackPtr TokenMasks::find(const Stack& stack) const {
    const auto top = of_stack_.find(stack.state);
    if (top == of_stack_.end()) return nullptr;
    const Place* place = &top->second;
    for (const Frame* frame = stack.below.get(); !place->found;) {
        const auto next = place->below.find(frame != nullptr ? frame->state : stack_ends);
        if (next == place->below.end()) return nullptr;
        place = next->second.get();
        if (frame == nullptr) break;
        frame = frame->below.get();
    }
    return place->found;
}

// Finds the mask of a stack. used: the number of frames that decided it. ends: whether it also depends on
// there being no more.
TokenMasks::OfStackPtr TokenMasks::make(const Stack& stack, int& used, bool& ends) {
    const std::shared_ptr<const OfState> top = of_state(stack.state);
    const int depth = depth_of(stack.below);
    auto made = std::make_shared<OfStack>();
    made->id = stacks_made_++;
    TokenMask& mask = made->mask;
    mask = top->many;
    mask.resize((static_cast<std::size_t>(trie_.vocabulary()) + 31) / 32, 0);
    for (const TokenId token : top->few) mask[static_cast<std::size_t>(token) / 32] |= 1u << (token % 32);
    ends = false;
    if (top->exits.empty()) return made;
    for (used = std::min(1, depth);; used = std::min(used < 4 ? used + 1 : 2 * used, depth)) {
        const FramePtr frames = top_frames(stack.below, used);
        ends = frames == nullptr;
        if (frames) {
            const Configuration after = configuration_of(automaton_, {frames->state, frames->below});
            std::vector<int> ended;
            Walk walk(automaton_, trie_, mask, &ended);
            for (const int exit : top->exits) walk.below(exit, after);
            ends = after.complete || !ended.empty();
        }
        // What a part of the stack allows, all of it allows too.
        if (!ends || used == depth) return made;
    }
}

void TokenMasks::keep(const Stack& stack, int used, bool ends, const OfStackPtr& made) {
    Place* place = &of_stack_[stack.state];
    const auto go_below = [&](int state) {
        std::unique_ptr<Place>& next = place->below[state];
        if (!next) next = std::make_unique<Place>();
        place = next.get();
    };
    const Frame* frame = stack.below.get();
    for (int i = 0; i < used; ++i, frame = frame->below.get()) go_below(frame->state);
    if (ends) go_below(stack_ends);
    place->found = made;
}

TokenMasks::OfStackPtr TokenMasks::of_stack(const Stack& stack) {
    if (OfStackPtr known = find(stack)) return known;
    int used = 0;
    bool ends = false;
    OfStackPtr made = make(stack, used, ends);
    constexpr std::size_t place_bytes = 150;
    count_bytes(made->mask.size() * sizeof(std::uint32_t) + static_cast<std::size_t>(used + 2) * place_bytes);
    keep(stack, used, ends, made);
    return made;
}

std::shared_ptr<const TokenMask> TokenMasks::combined(const Configuration& now,
                                                      const std::vector<OfStackPtr>& stacks,
                                                      bool drops_space) const {
    auto mask = std::make_shared<TokenMask>((static_cast<std::size_t>(trie_.vocabulary()) + 31) / 32, 0);
    for (const OfStackPtr& stack : stacks)
        for (std::size_t i = 0; i < mask->size(); ++i) (*mask)[i] |= stack->mask[i];
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
    return mask;
}

// Whether a token may reach the limit of nesting: none opens half as many rules.
bool TokenMasks::is_deep(const Configuration& now) const {
    return std::ranges::any_of(now.stacks, [&](const Stack& stack) {
        return depth_of(stack.below) + automaton_.most_nesting_needed() > kMostDepth / 2;
    });
}

std::shared_ptr<const TokenMask> TokenMasks::mask(const Configuration& now, bool at_start) {
    const bool drops_space = at_start && trie_.drops_first_space();
    const std::lock_guard lock(mutex_);
    if (is_deep(now)) {
        const auto made = std::make_shared<OfStack>();
        made->mask.resize((static_cast<std::size_t>(trie_.vocabulary()) + 31) / 32, 0);
        Walk(automaton_, trie_, made->mask, nullptr).below(0, now);
        return combined(now, {made}, drops_space);
    }
    std::vector<OfStackPtr> stacks;
    for (const Stack& stack : now.stacks) stacks.push_back(of_stack(stack));
    if (stacks.size() == 1 && !now.complete && !drops_space) return {stacks.front(), &stacks.front()->mask};
    std::vector<int> key;
    for (const OfStackPtr& stack : stacks) key.push_back(stack->id);
    std::ranges::sort(key);  // equal sets of stacks may come in any order
    key.push_back(now.complete ? 1 : 0);
    key.push_back(drops_space ? 1 : 0);
    if (const auto known = known_.find(key); known != known_.end()) return known->second;
    std::shared_ptr<const TokenMask> mask = combined(now, stacks, drops_space);
    count_bytes((mask->size() + key.size()) * sizeof(int) + 100);
    known_.emplace(std::move(key), mask);
    return mask;
}

}  // namespace voltpile::llm
