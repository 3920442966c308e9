// Byte-pair encoding of one piece of text. Symbols are merged pair by pair, the pair of the lowest rank first
// and the leftmost of equal ones; a queue of the pairs keeps long pieces at O(n log n).
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

    // Appends the tokens of `piece`, which is valid UTF-8 and, for SentencePiece, has space marks for spaces.
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
    bool words_are_apart_;               // no merge goes beyond the end of a word: each can be encoded alone
    TokenId unknown_;                    // -1: there is none
    TokenId token_count_;                // ids from here on are parts of tokens only
    std::array<TokenId, 256> byte_ids_;  // -1: the vocabulary has no token for this byte
    std::unordered_map<std::string, TokenId, TextHash, std::equal_to<>> ids_;  // byte-level: by their bytes
    std::unordered_map<std::uint64_t, Target> merges_;                         // by left id << 32 | right id
};

}  // namespace voltpile::llm
