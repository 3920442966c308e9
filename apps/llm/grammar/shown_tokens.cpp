#include "llm/grammar/shown_tokens.h"

#include <algorithm>

namespace voltpile::llm {

std::vector<TokenId> special_tokens_named(const Tokenizer& tokenizer,
                                          std::span<const std::string_view> names) {
    std::vector<TokenId> found;
    const Vocabulary& vocabulary = tokenizer.vocabulary();
    for (TokenId id = 0; id < std::ssize(vocabulary.texts); ++id) {
        const bool special =
            tokenizer.is_special(id) || vocabulary.kinds[static_cast<std::size_t>(id)] == TokenKind::Control;
        if (special && std::ranges::find(names, tokenizer.bytes_of(id)) != names.end()) found.push_back(id);
    }
    return found;
}

}  // namespace voltpile::llm
