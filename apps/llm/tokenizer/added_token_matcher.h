// Finds added tokens in text: the leftmost one, and the longest at that place.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "llm/tokenizer/vocabulary.h"

namespace voltpile::llm {

class AddedTokenMatcher {
  public:
    AddedTokenMatcher() = default;
    // Ignores tokens without text.
    explicit AddedTokenMatcher(std::vector<AddedToken> tokens);
    AddedTokenMatcher(AddedTokenMatcher&&) = default;
    AddedTokenMatcher& operator=(AddedTokenMatcher&&) = default;

    bool empty() const { return tokens_.empty(); }

    // Splits text at added tokens. Calls `token` for each token and `between` for each nonempty text between
    // them, with its offset, in the order of the text. Without parse_special, special tokens are ordinary
    // text.
    void split(std::string_view text, bool parse_special, const std::function<void(TokenId)>& token,
               const std::function<void(std::string_view, std::size_t)>& between) const;

  private:
    const AddedToken* longest_at(std::string_view rest) const;

    std::vector<AddedToken> tokens_;
    std::unordered_map<std::string_view, const AddedToken*> by_text_;  // views into tokens_
    std::array<std::vector<std::size_t>, 256> lengths_;                // by first byte, descending
};

}  // namespace voltpile::llm
