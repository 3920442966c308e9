#include "llm/eval/same_tokens.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "llm/tokenizer/same_vocabulary.h"

namespace voltpile::llm {
namespace {

std::string differ(const ModelReader& a, const ModelReader& b, const std::string& how) {
    return fmt::format("{} and {} cannot be compared: {}", a.name, b.name, how);
}

}  // namespace

void check_same_tokens(const ModelReader& a, const ModelReader& b, std::span<const TokenId> tokens,
                       std::string_view text) {
    if (a.vocabulary != b.vocabulary)
        throw JobError(differ(
            a, b, fmt::format("their vocabularies have {} and {} tokens", a.vocabulary, b.vocabulary)));
    if (const std::string token = differing_token(a.tokenizer, b.tokenizer); !token.empty())
        throw JobError(differ(a, b, fmt::format("the tokenizers differ: {}", token)));
    const auto other = b.tokenizer.encode(text, {.add_special = false, .parse_special = false});
    const auto [mine, its] = std::ranges::mismatch(tokens, other);
    if (mine != tokens.end() || its != other.end())
        throw JobError(differ(
            a, b, fmt::format("their tokens for the text differ from token {} on", mine - tokens.begin())));
}

}  // namespace voltpile::llm
