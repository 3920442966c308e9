#include "llm/tokenizer/model_tokenizer.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <filesystem>

#include "base/error.h"
#include "llm/model/json_file.h"
#include "llm/model/synthetic_shapes.h"
#include "llm/model/synthetic_tokens.h"
#include "llm/tokenizer/gguf_vocabulary.h"
#include "llm/tokenizer/hugging_face_vocabulary.h"

namespace voltpile::llm {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t max_json_bytes = std::size_t{256} << 20;  // the largest published are about 20 MB

template <class T>
std::vector<T> list(const GgufFile& file, const char* key) {
    if constexpr (std::is_same_v<T, std::string_view>) {
        const auto found = file.find<std::span<const std::string_view>>(key);
        return found ? std::vector<T>(found->begin(), found->end()) : std::vector<T>{};
    } else if constexpr (std::is_same_v<T, float>) {
        return file.find<std::vector<float>>(key).value_or(std::vector<float>{});
    } else {
        const auto found = file.find<std::vector<std::int64_t>>(key).value_or(std::vector<std::int64_t>{});
        return std::vector<T>(found.begin(), found.end());
    }
}

std::optional<std::uint32_t> token_id(const GgufFile& file, const char* key) {
    const auto found = file.find<std::uint64_t>(key);
    return found ? std::optional(static_cast<std::uint32_t>(*found)) : std::nullopt;
}

}  // namespace

Vocabulary gguf_vocabulary(const GgufFile& file) {
    GgufTokenizerKeys keys;
    keys.model = file.find<std::string_view>("tokenizer.ggml.model").value_or("");
    keys.pre = file.find<std::string_view>("tokenizer.ggml.pre").value_or("");
    keys.tokens = list<std::string_view>(file, "tokenizer.ggml.tokens");
    keys.scores = list<float>(file, "tokenizer.ggml.scores");
    keys.token_types = list<std::int32_t>(file, "tokenizer.ggml.token_type");
    keys.merges = list<std::string_view>(file, "tokenizer.ggml.merges");
    keys.bos = token_id(file, "tokenizer.ggml.bos_token_id");
    keys.eos = token_id(file, "tokenizer.ggml.eos_token_id");
    keys.unknown = token_id(file, "tokenizer.ggml.unknown_token_id");
    keys.add_bos = file.find<bool>("tokenizer.ggml.add_bos_token");
    keys.add_eos = file.find<bool>("tokenizer.ggml.add_eos_token");
    keys.add_space_prefix = file.find<bool>("tokenizer.ggml.add_space_prefix");
    return vocabulary_from_gguf(keys, file.path());
}

Tokenizer load_tokenizer(const ModelFiles& model) {
    const TokenizerSource& source = model.config().tokenizer;
    if (source.kind == TokenizerKind::Gguf && model.gguf() != nullptr)
        return Tokenizer(gguf_vocabulary(*model.gguf()));
    const std::string where = model.paths().front();
    if (source.kind == TokenizerKind::SentencePiece)
        throw JobError(fmt::format(
            "{}: a tokenizer.model alone is not supported: save the model's tokenizer.json beside it",
            source.path));
    if (source.kind != TokenizerKind::TokenizerJson)
        throw JobError(fmt::format("{}: the model has no tokenizer", where));
    const fs::path config = fs::path(source.path).parent_path() / "tokenizer_config.json";
    return Tokenizer(vocabulary_from_hugging_face(
        read_json_object(source.path, max_json_bytes),
        fs::exists(config) ? read_json_object(config.string(), max_json_bytes) : nlohmann::json(),
        source.path));
}

Tokenizer synthetic_tokenizer(std::int64_t vocab) {
    const SyntheticTokens tokens = synthetic_tokens(vocab);
    GgufTokenizerKeys keys;
    keys.model = "llama";
    keys.pre = "default";
    keys.tokens.assign(tokens.texts.begin(), tokens.texts.end());
    keys.scores = tokens.scores;
    keys.token_types = tokens.kinds;
    keys.bos = std::uint32_t{kSyntheticBos};
    keys.eos = std::uint32_t{kSyntheticEos};
    keys.unknown = 0;
    keys.add_bos = true;
    return Tokenizer(vocabulary_from_gguf(keys, "synthetic model"));
}

}  // namespace voltpile::llm
