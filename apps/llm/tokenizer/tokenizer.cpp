#include "llm/tokenizer/tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "llm/tokenizer/byte_alphabet.h"
#include "llm/tokenizer/normalization.h"
#include "llm/tokenizer/stream_decoder.h"
#include "llm/tokenizer/utf8.h"

namespace voltpile::llm {

namespace {

std::string token_bytes(const Vocabulary& vocabulary, std::size_t id) {
    const std::string& text = vocabulary.texts[id];
    const TokenKind kind = vocabulary.kinds[id];
    if (kind == TokenKind::Byte) return {static_cast<char>(*byte_of_token(text))};
    if (vocabulary.kind == VocabularyKind::SentencePieceBpe) return replace_all(text, kSpaceMark, " ");
    if (kind != TokenKind::Normal) return text;
    return bytes_from_alphabet(text).value_or(text);
}

std::vector<AddedToken> added_tokens(const Vocabulary& vocabulary, bool normalized) {
    std::vector<AddedToken> tokens;
    for (AddedToken token : vocabulary.added) {
        if (token.normalized != normalized) continue;
        if (normalized && vocabulary.nfc) token.text = to_nfc(token.text);
        if (normalized && vocabulary.prefix_is_normalization)
            token.text = with_space_marks(token.text, vocabulary.space_prefix);
        tokens.push_back(std::move(token));
    }
    return tokens;
}

}  // namespace

Tokenizer::Tokenizer(Vocabulary vocabulary)
    : vocabulary_(std::move(vocabulary)),
      special_(vocabulary_.texts.size()),
      bpe_(vocabulary_),
      added_(added_tokens(vocabulary_, false)),
      normalized_added_(added_tokens(vocabulary_, true)) {
    for (std::size_t id = 0; id < vocabulary_.texts.size(); ++id)
        bytes_.push_back(token_bytes(vocabulary_, id));
    for (const AddedToken& token : added_tokens(vocabulary_, true))  // stands for its normalized text
        bytes_[static_cast<std::size_t>(token.id)] = replace_all(token.text, kSpaceMark, " ");
    for (const AddedToken& token : vocabulary_.added)
        if (token.special) special_[static_cast<std::size_t>(token.id)] = true;
    for (const std::string& pattern : vocabulary_.split_patterns) patterns_.emplace_back(pattern);
}

std::vector<TokenId> Tokenizer::encode(std::string_view text, EncodeOptions options,
                                       std::string_view what) const {
    check_utf8(text, what);
    if (text.size() > std::numeric_limits<std::int32_t>::max())
        throw JobError(fmt::format("{}: over 2 GiB", what));
    std::vector<TokenId> ids;
    if (options.add_special) ids = vocabulary_.prefix;
    const SpacePrefix first = options.continues ? SpacePrefix::Never : vocabulary_.space_prefix;
    added_.split(
        text, options.parse_special, [&](TokenId id) { ids.push_back(id); },
        [&](std::string_view fragment, std::size_t offset) {
            encode_fragment(fragment, offset == 0 ? first : prefix_within(), options.parse_special, ids);
        });
    if (options.add_special) ids.insert(ids.end(), vocabulary_.suffix.begin(), vocabulary_.suffix.end());
    return ids;
}

SpacePrefix Tokenizer::prefix_within() const {
    return vocabulary_.space_prefix == SpacePrefix::AtStart ? SpacePrefix::Never : vocabulary_.space_prefix;
}

void Tokenizer::encode_fragment(std::string_view text, SpacePrefix prefix, bool parse_special,
                                std::vector<TokenId>& ids) const {
    std::string composed;
    if (vocabulary_.nfc) text = composed = to_nfc(text);
    std::string marked;
    if (vocabulary_.prefix_is_normalization) text = marked = with_space_marks(text, prefix);
    normalized_added_.split(
        text, parse_special, [&](TokenId id) { ids.push_back(id); },
        [&](std::string_view part, std::size_t offset) {
            encode_normalized(part, offset == 0 ? prefix : prefix_within(), ids);
        });
}

void Tokenizer::encode_normalized(std::string_view text, SpacePrefix prefix,
                                  std::vector<TokenId>& ids) const {
    std::string marked;
    if (vocabulary_.kind == VocabularyKind::SentencePieceBpe && !vocabulary_.prefix_is_normalization)
        text = marked = with_space_marks(text, prefix);
    if (!vocabulary_.split_at_space_marks) return split(text, 0, ids);
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(kSpaceMark, 1), text.size());
        split(text.substr(0, end), 0, ids);
        text.remove_prefix(end);
    }
}

// Applies the patterns one after the other, each to the pieces of the previous one.
void Tokenizer::split(std::string_view text, std::size_t pattern, std::vector<TokenId>& ids) const {
    if (pattern == patterns_.size()) return bpe_.encode(text, ids);
    patterns_[pattern].split(text, [&](std::string_view piece) { split(piece, pattern + 1, ids); });
}

std::string Tokenizer::decode(std::span<const TokenId> ids, bool skip_special) const {
    StreamDecoder decoder(*this, skip_special);
    std::string text;
    for (const TokenId id : ids) text += decoder.push(id);
    return text + decoder.flush();
}

std::string_view Tokenizer::bytes_of(TokenId id) const {
    if (id < 0 || static_cast<std::size_t>(id) >= bytes_.size()) return {};
    return bytes_[static_cast<std::size_t>(id)];
}

bool Tokenizer::is_special(TokenId id) const {
    return id >= 0 && static_cast<std::size_t>(id) < special_.size() &&
           special_[static_cast<std::size_t>(id)];
}

}  // namespace voltpile::llm
