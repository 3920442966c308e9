// Which tokens may come next: bit masks over the vocabulary for the configurations of an automaton.
//
// A token may span several symbols of the grammar, and may begin or end within a character. What it does is
// split in two. Tokens that stay within the rule on top of the stack, and those it calls, depend on one state
// of the automaton alone; so do the places in the trie where that rule may end. Both are found once for each
// state, on first use, and kept. What follows such a place depends on the stack below, but only on as much of
// it as a token can end: the mask of a stack is kept under the few states on its top that decide it, so texts
// that nest differently deep share masks, up to half of kMostDepth: what may follow deeper stacks is found
// anew, because it depends on how deep they are. (Splitting tokens this way: Y. Dong et al., XGrammar, 2024.)
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
    struct OfStack {
        TokenMask mask;
        int id = 0;  // its number
    };
    using OfStackPtr = std::shared_ptr<const OfStack>;
    // A state of a stack. Stacks that agree down to it have the same mask, or differ further below.
    struct Place {
        OfStackPtr found;
        std::unordered_map<int, std::unique_ptr<Place>> below;  // by the next state; -1: the stack ends
    };

    std::shared_ptr<const OfState> of_state(int state);
    bool is_deep(const Configuration& now) const;
    OfStackPtr of_stack(const Stack& stack);
    OfStackPtr find(const Stack& stack) const;
    OfStackPtr make(const Stack& stack, int& used, bool& ends);
    void keep(const Stack& stack, int used, bool ends, const OfStackPtr& made);
    std::shared_ptr<const TokenMask> combined(const Configuration& now, const std::vector<OfStackPtr>& stacks,
                                              bool drops_space) const;
    void count_bytes(std::size_t bytes);

    const Automaton& automaton_;
    const TokenTrie& trie_;
    std::mutex mutex_;
    std::unordered_map<int, std::shared_ptr<const OfState>> of_state_;
    std::unordered_map<int, Place> of_stack_;  // by the state on top
    int stacks_made_ = 0;
    // Of several stacks, or with end tokens: by the numbers of the stacks.
    std::map<std::vector<int>, std::shared_ptr<const TokenMask>> known_;
    std::size_t bytes_ = 0;
};

}  // namespace voltpile::llm
