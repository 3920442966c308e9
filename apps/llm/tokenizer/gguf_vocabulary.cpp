#include "llm/tokenizer/gguf_vocabulary.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "llm/tokenizer/pre_tokenizer_patterns.h"
#include "llm/tokenizer/sentence_piece_merges.h"
#include "llm/tokenizer/utf8.h"

namespace voltpile::llm {

namespace {

class GgufReader {
  public:
    GgufReader(const GgufTokenizerKeys& keys, std::string_view path) : keys_(keys), path_(path) {}

    Vocabulary read() {
        if (keys_.model != "llama" && keys_.model != "gpt2")
            fail("model",
                 fmt::format("\"{}\" is not supported; supported are llama (SentencePiece BPE), gpt2 "
                             "(byte-level BPE)",
                             keys_.model));
        read_tokens();
        vocabulary_.bos = checked_id(keys_.bos, "bos_token_id");
        vocabulary_.eos = checked_id(keys_.eos, "eos_token_id");
        vocabulary_.unknown = checked_id(keys_.unknown, "unknown_token_id");
        const bool add_bos_by_default = keys_.model == "llama" ? read_sentence_piece() : read_byte_level();
        if (keys_.add_bos.value_or(add_bos_by_default && vocabulary_.bos))
            vocabulary_.prefix = {wanted(vocabulary_.bos, "bos_token_id", "add_bos_token")};
        if (keys_.add_eos.value_or(false))
            vocabulary_.suffix = {wanted(vocabulary_.eos, "eos_token_id", "add_eos_token")};
        return std::move(vocabulary_);
    }

  private:
    [[noreturn]] void fail(std::string_view key, std::string_view problem) const {
        throw JobError(fmt::format("{}: tokenizer.ggml.{}: {}", path_, key, problem));
    }

    TokenId wanted(std::optional<TokenId> id, std::string_view key, std::string_view by) const {
        if (!id) fail(key, fmt::format("is missing, but {} needs it", by));
        return *id;
    }

    std::optional<TokenId> checked_id(std::optional<std::uint32_t> id, std::string_view key) const {
        if (!id) return std::nullopt;
        if (*id >= keys_.tokens.size()) fail(key, fmt::format("{} of {} tokens", *id, keys_.tokens.size()));
        return static_cast<TokenId>(*id);
    }

    void read_tokens() {
        const std::size_t count = keys_.tokens.size();
        if (count == 0) fail("tokens", "is missing or empty");
        if (count > std::numeric_limits<TokenId>::max() / 2)
            fail("tokens", fmt::format("{} are too many", count));
        if (!keys_.token_types.empty() && keys_.token_types.size() != count)
            fail("token_type", fmt::format("{} for {} tokens", keys_.token_types.size(), count));
        for (std::size_t i = 0; i < count; ++i) {
            const std::string_view text = keys_.tokens[i];
            if (find_invalid_utf8(text)) fail("tokens", fmt::format("number {} is not UTF-8", i));
            const TokenKind kind = keys_.token_types.empty() ? TokenKind::Normal : checked_kind(i);
            vocabulary_.texts.emplace_back(text);
            vocabulary_.kinds.push_back(kind);
            const bool special = kind == TokenKind::Control || kind == TokenKind::Unknown;
            if (special || kind == TokenKind::UserDefined)
                vocabulary_.added.push_back({static_cast<TokenId>(i), std::string(text), special});
        }
    }

    TokenKind checked_kind(std::size_t i) const {
        const std::int32_t type = keys_.token_types[i];
        if (type < 0 || type > static_cast<int>(TokenKind::Byte))
            fail("token_type", fmt::format("{} of token {} is unknown", type, i));
        if (type == 0) return TokenKind::Normal;  // "undefined"
        const auto kind = static_cast<TokenKind>(type);
        const std::string_view text = keys_.tokens[i];
        if (kind == TokenKind::Byte && !byte_of_token(text))
            fail("tokens", fmt::format("number {} is a byte, but is not written as <0x0A>", i));
        return kind;
    }

    bool read_sentence_piece() {
        vocabulary_.kind = VocabularyKind::SentencePieceBpe;
        if (keys_.scores.size() != keys_.tokens.size())
            fail("scores", fmt::format("{} for {} tokens", keys_.scores.size(), keys_.tokens.size()));
        if (std::ranges::any_of(keys_.scores, [](float score) { return score != score; }))
            fail("scores", "NaN");
        set_merges_from_scores(vocabulary_, keys_.scores);
        vocabulary_.byte_fallback = true;
        vocabulary_.fuse_unknown = true;
        const bool add_space = keys_.add_space_prefix.value_or(true);
        vocabulary_.space_prefix = add_space ? SpacePrefix::Always : SpacePrefix::Never;
        vocabulary_.prefix_is_normalization = true;
        vocabulary_.drop_first_space = add_space;
        return true;
    }

    bool read_byte_level() {
        if (keys_.pre.empty())
            spdlog::warn(
                "{}: no tokenizer.ggml.pre: the text may be divided into other tokens than in training; "
                "convert the model again to add it",
                path_);
        PreTokenizer pre_tokenizer = pre_tokenizer_named(keys_.pre, path_);
        vocabulary_.split_patterns = std::move(pre_tokenizer.split_patterns);
        vocabulary_.ignore_merges = pre_tokenizer.ignore_merges;
        vocabulary_.nfc = pre_tokenizer.nfc;
        if (keys_.merges.empty()) fail("merges", "is missing or empty");
        std::vector<std::pair<std::string_view, std::string_view>> pairs;
        for (const std::string_view merge : keys_.merges) {
            const std::size_t space = merge.find(' ');
            if (space == std::string_view::npos)
                fail("merges", fmt::format("\"{}\" is not two tokens", merge));
            pairs.emplace_back(merge.substr(0, space), merge.substr(space + 1));
        }
        set_merges(vocabulary_, pairs, fmt::format("{}: tokenizer.ggml.merges", path_));
        return pre_tokenizer.add_bos;
    }

    const GgufTokenizerKeys& keys_;
    std::string_view path_;
    Vocabulary vocabulary_;
};

}  // namespace

Vocabulary vocabulary_from_gguf(const GgufTokenizerKeys& keys, std::string_view path) {
    return GgufReader(keys, path).read();
}

}  // namespace voltpile::llm
