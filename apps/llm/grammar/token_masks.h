// Which tokens may come next: bit masks over the vocabulary for the configurations of an automaton.
//
// A token may span several symbols of the grammar, and may begin or end within a character. What it does is
// split in two. Tokens that stay within the rule on top of the stack, and those it calls, depend on one state
// of the automaton alone; so do the places in the trie where that rule may end. Both are found once for each
// state, on first use, and kept. Only what follows such a place depends on the stack below, and is looked up
// for each configuration. (The same idea: Y. Dong et al., XGrammar, 2024.)
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "llm/grammar/automaton.h"
#include "llm/grammar/token_trie.h"

namespace voltpile::llm {

// Bit t % 32 of word t / 32 is set if token t is allowed.
using TokenMask = std::vector<std::uint32_t>;

inline bool allows(const TokenMask& mask, TokenId token) {
    const auto t = static_cast<std::size_t>(token);
    return t / 32 < mask.size() && (mask[t / 32] >> (t % 32) & 1) != 0;
}

// Threads may share one.
class TokenMasks {
  public:
    // automaton, trie: must outlive this object.
    TokenMasks(const Automaton& automaton, const TokenTrie& trie) : automaton_(automaton), trie_(trie) {}

    // Returns the tokens whose bytes may follow, and the end tokens if the text may end here. at_start: no
    // token has come before, so the space that begins the first token may have to be ignored.
    std::shared_ptr<const TokenMask> mask(const Configuration& now, bool at_start);

    // Masks are dropped, and found again, when they take more memory than this.
    static constexpr std::size_t most_bytes = std::size_t{64} << 20;

  private:
    struct OfState {
        std::vector<TokenId> few;  // the tokens, or if there are many:
        TokenMask many;
        std::vector<int> exits;  // nodes of the trie at which the rule may have ended
    };
    class Walk;

    std::shared_ptr<const OfState> of_state(int state);
    void add_state(const Stack& stack, TokenMask& to);
    void count_bytes(std::size_t bytes);

    const Automaton& automaton_;
    const TokenTrie& trie_;
    std::mutex mutex_;
    std::unordered_map<int, std::shared_ptr<const OfState>> of_state_;
    // By the states of all stacks, see key_of() in token_masks.cpp.
    std::map<std::vector<int>, std::shared_ptr<const TokenMask>> known_;
    std::size_t bytes_ = 0;
};

}  // namespace voltpile::llm
