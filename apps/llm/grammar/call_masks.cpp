#include "llm/grammar/call_masks.h"

#include <vector>

namespace voltpile::llm {

Configuration after_opening(const Automaton& automaton, std::string_view opening) {
    Configuration now = start_of(automaton);
    for (const char c : opening) now = after_byte(automaton, now, static_cast<std::uint8_t>(c));
    return now;
}

// Forbids the tokens below a node, where the automaton is in this configuration, that it cannot read.
void CallMasks::forbid_below(int node, const Configuration& now, TokenMask& mask, bool& any) const {
    for (int child = node + 1; child < trie_.end(node); child = trie_.end(child)) {
        const Configuration next = after_byte(automaton_, now, trie_.byte(child));
        if (!next.dead()) {
            forbid_below(child, next, mask, any);
            continue;
        }
        for (int below = child; below < trie_.end(child); ++below)
            for (const TokenId token : trie_.tokens(below)) {
                mask[static_cast<std::size_t>(token) / 32] &= ~(1u << (token % 32));
                any = true;
            }
    }
}

std::shared_ptr<const TokenMask> CallMasks::mask(const ToolCallStart& now) {
    const std::lock_guard lock(mutex_);
    if (const auto known = known_.find(now); known != known_.end()) return known->second;
    const auto mask =
        std::make_shared<TokenMask>((static_cast<std::size_t>(trie_.vocabulary()) + 31) / 32, ~0u);
    bool any = false;
    std::vector<ToolCallStart> states{now};  // by depth
    for (int node = 1; node < trie_.nodes();) {
        const auto depth = static_cast<std::size_t>(trie_.depth(node));
        states.resize(depth, now);
        ToolCallStart state = states.back();
        if (state.read(static_cast<char>(trie_.byte(node)))) {
            forbid_below(node, after_opening(automaton_, state.opening()), *mask, any);
            node = trie_.end(node);
        } else {
            states.push_back(state);
            ++node;
        }
    }
    return known_.emplace(now, any ? mask : nullptr).first->second;
}

}  // namespace voltpile::llm
