#include "llm/eval/same_tokens.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace voltpile::llm {
namespace {

std::string differ(const ModelReader& a, const ModelReader& b, const std::string& how) {
    return fmt::format("{} and {} cannot be compared: {}", a.name, b.name, how);
}

bool is_normal(const Vocabulary& vocabulary, std::size_t id) {
    return vocabulary.kinds[id] == TokenKind::Normal;
}

}  // namespace

void check_same_tokens(const ModelReader& a, const ModelReader& b, std::span<const TokenId> tokens,
                       std::string_view text) {
    if (a.vocabulary != b.vocabulary)
        throw JobError(differ(
            a, b, fmt::format("their vocabularies have {} and {} tokens", a.vocabulary, b.vocabulary)));
    const Vocabulary& ours = a.tokenizer.vocabulary();
    const Vocabulary& theirs = b.tokenizer.vocabulary();
    for (std::size_t i = 0; i < std::min(ours.texts.size(), theirs.texts.size()); ++i) {
        const auto id = static_cast<TokenId>(i);
        if (is_normal(ours, i) && is_normal(theirs, i) &&
            a.tokenizer.bytes_of(id) != b.tokenizer.bytes_of(id))
            throw JobError(differ(a, b,
                                  fmt::format("the tokenizers differ: token {} is \"{}\" and \"{}\"", id,
                                              ours.texts[i], theirs.texts[i])));
    }
    const auto other = b.tokenizer.encode(text, {.add_special = false, .parse_special = false});
    const auto [mine, its] = std::ranges::mismatch(tokens, other);
    if (mine != tokens.end() || its != other.end())
        throw JobError(differ(
            a, b, fmt::format("their tokens for the text differ from token {} on", mine - tokens.begin())));
}

}  // namespace voltpile::llm
