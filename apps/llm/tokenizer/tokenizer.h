// Converts text to tokens and back, exactly as the model's own tokenizer does.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "llm/tokenizer/added_token_matcher.h"
#include "llm/tokenizer/bpe.h"
#include "llm/tokenizer/split_pattern.h"
#include "llm/tokenizer/vocabulary.h"

namespace voltpile::llm {

struct EncodeOptions {
    bool add_special = true;    // add the special tokens around a prompt, usually <bos> before it
    bool parse_special = true;  // recognize special tokens in the text
    bool continues = false;     // the text continues other text: add no space in front
};

// Immutable after construction, so threads may share one.
class Tokenizer {
  public:
    explicit Tokenizer(Vocabulary vocabulary);

    // Encodes at most 2 GiB of UTF-8. what: names the text in messages. Throws JobError with the first byte
    // that is not UTF-8.
    std::vector<TokenId> encode(std::string_view text, EncodeOptions options = {},
                                std::string_view what = "prompt") const;

    // Decodes tokens. Bytes that are not UTF-8 become U+FFFD. Ids beyond the vocabulary, which padded models
    // can draw, have no text.
    std::string decode(std::span<const TokenId> ids, bool skip_special = true) const;

    // Returns the bytes of a token, which may begin or end within a character; the name of a special token.
    std::string_view bytes_of(TokenId id) const;
    bool is_special(TokenId id) const;
    bool drops_first_space() const { return vocabulary_.drop_first_space; }
    const Vocabulary& vocabulary() const { return vocabulary_; }

  private:
    // prefix: for the beginning of the fragment.
    void encode_fragment(std::string_view text, SpacePrefix prefix, bool parse_special,
                         std::vector<TokenId>& ids) const;
    void encode_normalized(std::string_view text, SpacePrefix prefix, std::vector<TokenId>& ids) const;
    SpacePrefix prefix_within() const;  // for pieces after the first
    void split(std::string_view text, std::size_t pattern, std::vector<TokenId>& ids) const;

    Vocabulary vocabulary_;
    std::vector<std::string> bytes_;  // by id
    std::vector<bool> special_;       // by id
    Bpe bpe_;
    AddedTokenMatcher added_;             // matched in the original text
    AddedTokenMatcher normalized_added_;  // matched in the normalized text
    std::vector<SplitPattern> patterns_;
};

}  // namespace voltpile::llm
