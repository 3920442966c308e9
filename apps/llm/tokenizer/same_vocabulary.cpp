#include "llm/tokenizer/same_vocabulary.h"

#include <fmt/format.h>

#include <algorithm>

namespace voltpile::llm {
namespace {

bool is_normal(const Vocabulary& vocabulary, std::size_t id) {
    return vocabulary.kinds[id] == TokenKind::Normal;
}

}  // namespace

std::string differing_token(const Tokenizer& a, const Tokenizer& b) {
    const Vocabulary& ours = a.vocabulary();
    const Vocabulary& theirs = b.vocabulary();
    for (std::size_t i = 0; i < std::min(ours.texts.size(), theirs.texts.size()); ++i) {
        const auto id = static_cast<TokenId>(i);
        if (is_normal(ours, i) && is_normal(theirs, i) && a.bytes_of(id) != b.bytes_of(id))
            return fmt::format("token {} is \"{}\" and \"{}\"", id, ours.texts[i], theirs.texts[i]);
    }
    return {};
}

std::size_t normal_tokens(const Tokenizer& tokenizer) {
    const Vocabulary& vocabulary = tokenizer.vocabulary();
    std::size_t count = vocabulary.texts.size();
    while (count > 0 && !is_normal(vocabulary, count - 1)) --count;
    return count;
}

}  // namespace voltpile::llm
