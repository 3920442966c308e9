// Text to token ids and back, as the model's own tokenizer does it.
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
    bool add_special = true;    // what the model wants around a prompt, mostly <bos> before it
    bool parse_special = true;  // the text of a special token is that token
    bool continues = false;     // goes on from other text: no space is put before it
};

// Constant after construction: any number of threads may use one.
class Tokenizer {
  public:
    explicit Tokenizer(Vocabulary vocabulary);

    // Throws JobError that names the first byte which is not UTF-8; `what` the text is, for the message. At
    // most 2 GiB of text.
    std::vector<TokenId> encode(std::string_view text, EncodeOptions options = {},
                                std::string_view what = "prompt") const;

    // Bytes that are not UTF-8 become U+FFFD. Ids beyond the vocabulary, which padded models may give, have
    // no text.
    std::string decode(std::span<const TokenId> ids, bool skip_special = true) const;

    // May end or begin within a character. Of a special token: its name.
    std::string_view bytes_of(TokenId id) const;
    bool is_special(TokenId id) const;
    bool drops_first_space() const { return vocabulary_.drop_first_space; }
    const Vocabulary& vocabulary() const { return vocabulary_; }

  private:
    // prefix: of the fragment's beginning.
    void encode_fragment(std::string_view text, SpacePrefix prefix, bool parse_special,
                         std::vector<TokenId>& ids) const;
    void encode_normalized(std::string_view text, SpacePrefix prefix, std::vector<TokenId>& ids) const;
    SpacePrefix prefix_within() const;  // of pieces that do not begin the text
    void split(std::string_view text, std::size_t pattern, std::vector<TokenId>& ids) const;

    Vocabulary vocabulary_;
    std::vector<std::string> bytes_;  // by id
    std::vector<bool> special_;       // by id
    Bpe bpe_;
    AddedTokenMatcher added_;             // looked for in the text itself
    AddedTokenMatcher normalized_added_;  // looked for in the normalized text
    std::vector<SplitPattern> patterns_;
};

}  // namespace voltpile::llm
