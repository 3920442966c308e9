// Which tokens may come next while a text has not reached the calls of tools that its grammar is about.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "llm/grammar/automaton.h"
#include "llm/grammar/token_masks.h"
#include "llm/grammar/token_trie.h"
#include "llm/grammar/tool_format.h"

namespace voltpile::llm {

// Returns the configuration after the opening of a call.
Configuration after_opening(const Automaton& automaton, std::string_view opening);

// Any token may come but one that completes the opening of a call and goes on with what the grammar does not
// allow there. Threads may share one.
class CallMasks {
  public:
    // automaton, trie: must outlive this object.
    CallMasks(const Automaton& automaton, const TokenTrie& trie) : automaton_(automaton), trie_(trie) {}

    // Returns nullptr if any token may come. The first call for a state reads the whole trie.
    std::shared_ptr<const TokenMask> mask(const ToolCallStart& now);

  private:
    void forbid_below(int node, const Configuration& now, TokenMask& mask, bool& any) const;

    const Automaton& automaton_;
    const TokenTrie& trie_;
    std::mutex mutex_;
    std::map<ToolCallStart, std::shared_ptr<const TokenMask>> known_;  // as many as an opening has bytes
};

}  // namespace voltpile::llm
