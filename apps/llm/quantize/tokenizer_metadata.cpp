#include "llm/quantize/tokenizer_metadata.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.h"
#include "llm/tokenizer/pre_tokenizer_patterns.h"

namespace voltpile::llm {
namespace {

// Below the scores of all merged tokens, whose ranks are below 2^24.
constexpr float kNeverMerged = -0x1p25f;

class TokenizerMetadata {
  public:
    TokenizerMetadata(const Vocabulary& vocabulary, const ModelConfig& config, GgufWriter& file)
        : vocabulary_(vocabulary), config_(config), file_(file) {}

    void add() {
        const bool bytes = vocabulary_.kind == VocabularyKind::ByteLevelBpe;
        file_.add("tokenizer.ggml.model", bytes ? "gpt2" : "llama");
        file_.add("tokenizer.ggml.pre", bytes ? pre_tokenizer() : "default");
        add_tokens();
        if (bytes) {
            add_merges();
        } else {
            add_scores();
            file_.add("tokenizer.ggml.add_space_prefix", vocabulary_.space_prefix != SpacePrefix::Never);
        }
        add_special();
        if (!config_.chat_template.empty()) file_.add("tokenizer.chat_template", config_.chat_template);
    }

  private:
    std::string_view pre_tokenizer() const {
        const std::string_view name =
            pre_tokenizer_name({vocabulary_.split_patterns, vocabulary_.nfc, vocabulary_.ignore_merges});
        if (name.empty())
            throw JobError(
                config_.tokenizer.path +
                ": this way of splitting text has no name in GGUF files; the model cannot be converted");
        if (pre_tokenizer_named(name, config_.tokenizer.path).nfc != vocabulary_.nfc)
            spdlog::warn("{}: the file cannot say that text is normalized to NFC", config_.tokenizer.path);
        return name;
    }

    void add_tokens() {
        std::vector<std::string> texts = vocabulary_.texts;
        std::vector<std::int32_t> kinds;
        for (std::size_t id = 0; id < texts.size(); ++id) {
            const bool byte = vocabulary_.byte_fallback && byte_of_token(texts[id]);
            kinds.push_back(static_cast<std::int32_t>(byte ? TokenKind::Byte : TokenKind::Normal));
        }
        for (const AddedToken& token : vocabulary_.added)
            if (const auto id = static_cast<std::size_t>(token.id); id < kinds.size())
                kinds[id] =
                    static_cast<std::int32_t>(token.special ? TokenKind::Control : TokenKind::UserDefined);
        if (vocabulary_.unknown)
            kinds[static_cast<std::size_t>(*vocabulary_.unknown)] =
                static_cast<std::int32_t>(TokenKind::Unknown);
        kinds.resize(static_cast<std::size_t>(config_.vocab), static_cast<std::int32_t>(TokenKind::Unused));
        texts.resize(kinds.size());
        for (std::size_t id = 0; id < texts.size(); ++id) {
            if (!texts[id].empty()) continue;
            texts[id] = fmt::format("[PAD{}]", id);
            kinds[id] = static_cast<std::int32_t>(TokenKind::Unused);
        }
        file_.add("tokenizer.ggml.tokens", texts);
        file_.add("tokenizer.ggml.token_type", kinds);
    }

    std::vector<Merge> merges_by_rank() const {
        std::vector<Merge> merges = vocabulary_.merges;
        std::ranges::stable_sort(merges, {}, &Merge::rank);
        return merges;
    }

    const std::string& text(TokenId id) const {
        const auto at = static_cast<std::size_t>(id);
        const std::size_t tokens = vocabulary_.texts.size();
        return at < tokens ? vocabulary_.texts[at] : vocabulary_.characters[at - tokens];
    }

    void add_merges() {
        std::vector<std::string> texts;
        for (const Merge& merge : merges_by_rank())
            texts.push_back(text(merge.left) + " " + text(merge.right));
        file_.add("tokenizer.ggml.merges", texts);
    }

    // SentencePiece merges what gives the token with the highest score: here minus the rank of its first
    // merge.
    void add_scores() {
        std::vector<float> scores(static_cast<std::size_t>(config_.vocab), kNeverMerged);
        for (const Merge& merge : merges_by_rank()) {
            float& score = scores[static_cast<std::size_t>(merge.merged)];
            score = std::max(score, -static_cast<float>(merge.rank));
        }
        file_.add("tokenizer.ggml.scores", scores);
    }

    void add_special() {
        const auto add_id = [&](const char* key, std::int64_t id) {
            if (id >= 0)
                file_.add(fmt::format("tokenizer.ggml.{}_token_id", key), static_cast<std::uint32_t>(id));
        };
        const bool prefixed = !vocabulary_.prefix.empty();
        add_id("bos", prefixed ? vocabulary_.prefix.front()
                               : vocabulary_.bos.value_or(static_cast<TokenId>(config_.bos_id)));
        std::vector<std::int64_t> ends = config_.eos_ids;
        if (ends.empty() && vocabulary_.eos) ends.push_back(*vocabulary_.eos);
        if (!ends.empty()) add_id("eos", ends.front());
        if (ends.size() > 1) add_id("eot", ends[1]);
        if (vocabulary_.unknown) add_id("unknown", *vocabulary_.unknown);
        const bool same_suffix =
            vocabulary_.suffix.empty() ||
            (vocabulary_.suffix.size() == 1 && !ends.empty() && vocabulary_.suffix.front() == ends.front());
        if (vocabulary_.prefix.size() > 1 || !same_suffix)
            spdlog::warn(
                "{}: prompts have {} tokens before and {} behind them; the file can only name one each",
                config_.tokenizer.path, vocabulary_.prefix.size(), vocabulary_.suffix.size());
        file_.add("tokenizer.ggml.add_bos_token", prefixed);
        if (!vocabulary_.suffix.empty()) file_.add("tokenizer.ggml.add_eos_token", true);
    }

    const Vocabulary& vocabulary_;
    const ModelConfig& config_;
    GgufWriter& file_;
};

}  // namespace

void add_tokenizer_metadata(const Vocabulary& vocabulary, const ModelConfig& config, GgufWriter& file) {
    if (static_cast<std::size_t>(config.vocab) < vocabulary.texts.size())
        throw JobError(fmt::format("{}: {} tokens, but the embedding has {} rows", config.tokenizer.path,
                                   vocabulary.texts.size(), config.vocab));
    TokenizerMetadata(vocabulary, config, file).add();
}

}  // namespace voltpile::llm
