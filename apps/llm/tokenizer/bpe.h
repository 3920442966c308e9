// Byte-pair encoding of one piece of text. Merges the pair of symbols with the lowest rank first, and the
// leftmost of equal ones. A priority queue of pairs makes that O(n log n) in the length of the piece.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "llm/tokenizer/vocabulary.h"

namespace voltpile::llm {

class Bpe {
  public:
    explicit Bpe(const Vocabulary& vocabulary);

    // Appends the tokens of `piece`: valid UTF-8 and, for SentencePiece, with space marks in place of spaces.
    void encode(std::string_view piece, std::vector<TokenId>& ids) const;

  private:
    struct Symbol;
    struct Candidate;
    class Queue;
    struct Target {
        std::uint32_t rank;
        TokenId merged;
    };
    struct TextHash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
    };

    std::vector<Symbol> symbols_of(std::string_view piece) const;
    void merge(std::vector<Symbol>& symbols) const;
    void append(const Symbol& symbol, std::string_view piece, bool& after_unknown,
                std::vector<TokenId>& ids) const;

    bool byte_level_;
    bool ignore_merges_;
    bool byte_fallback_;
    bool fuse_unknown_;
    bool words_are_apart_;               // no merge crosses the end of a word, so each is encoded alone
    TokenId unknown_;                    // -1: none
    TokenId token_count_;                // ids from here on are parts of tokens only
    std::array<TokenId, 256> byte_ids_;  // -1: no token for this byte
    std::unordered_map<std::string, TokenId, TextHash, std::equal_to<>> ids_;  // byte-level: by their bytes
    std::unordered_map<std::uint64_t, Target> merges_;                         // by left id << 32 | right id
};

}  // namespace voltpile::llm
