// The tokens that a grammar may draw, as a trie of their bytes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "llm/tokenizer/stream_decoder.h"
#include "llm/tokenizer/tokenizer.h"

namespace voltpile::llm {

// Immutable after construction, so threads may share one.
class TokenTrie {
  public:
    // Leaves out special, unknown and unused tokens, but those in `shown`. end_ids: the tokens that end a
    // sequence.
    TokenTrie(const Tokenizer& tokenizer, const std::vector<std::int64_t>& end_ids, ShownTokens shown = {});

    int vocabulary() const { return vocabulary_; }  // tokens, including those left out
    const std::vector<TokenId>& end_ids() const { return end_ids_; }
    const ShownTokens& shown() const { return shown_; }
    std::string_view bytes_of(TokenId token) const;  // empty: left out
    // Whether the space that begins the first token is not printed.
    bool drops_first_space() const { return drops_first_space_; }

    // Nodes are numbered in the order of a walk that goes deep first; node 0 is the root. The nodes below
    // node n are n + 1 .. end(n).
    int nodes() const { return static_cast<int>(bytes_.size()); }
    std::uint8_t byte(int node) const { return bytes_[static_cast<std::size_t>(node)]; }
    int depth(int node) const { return depths_[static_cast<std::size_t>(node)]; }  // bytes from the root
    int end(int node) const { return ends_[static_cast<std::size_t>(node)]; }
    // The tokens whose bytes end at this node.
    std::span<const TokenId> tokens(int node) const {
        const auto n = static_cast<std::size_t>(node);
        return {tokens_.data() + first_token_[n],
                static_cast<std::size_t>(first_token_[n + 1] - first_token_[n])};
    }

    static constexpr int most_depth = 512;  // longer tokens are left out

  private:
    int vocabulary_ = 0;
    bool drops_first_space_ = false;
    std::vector<TokenId> end_ids_;
    ShownTokens shown_;
    std::vector<std::string> bytes_of_;  // by token
    std::vector<std::uint8_t> bytes_;    // by node
    std::vector<std::uint16_t> depths_;
    std::vector<int> ends_;
    std::vector<int> first_token_;  // by node, and one more
    std::vector<TokenId> tokens_;   // by their bytes
};

}  // namespace voltpile::llm
