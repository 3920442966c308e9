// Reads data/llm/tokenizers: small tokenizers, and the tokens and texts of the strings in strings.json
// according to the libraries `tokenizers` and `sentencepiece`. make_tokenizer_goldens.py writes these files.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "llm/tokenizer/gguf_vocabulary.h"
#include "llm/tokenizer/hugging_face_vocabulary.h"
#include "llm/tokenizer/tokenizer.h"

namespace voltpile::llm {

using nlohmann::json;

inline std::filesystem::path golden_folder() {
    const char* other = std::getenv("VOLTPILE_TOKENIZER_GOLDENS");  // a folder with more strings
    return other ? std::filesystem::path(other)
                 : std::filesystem::path(VOLTPILE_SOURCE_DIR) / "data/llm/tokenizers";
}

inline json read_golden(const std::string& name) {
    std::ifstream file(golden_folder() / (name + ".json"));
    if (!file) throw std::runtime_error("no golden file " + name);
    return json::parse(file);
}

inline Tokenizer tokenizer_of(const json& golden) {
    return Tokenizer(vocabulary_from_hugging_face(golden.at("tokenizer"), json(), "tokenizer.json"));
}

// The GGUF keys of a byte-level tokenizer.json.
struct ByteLevelGguf {
    std::vector<std::string> tokens, merges;
    GgufTokenizerKeys keys;

    ByteLevelGguf(const json& tokenizer, const std::string& pre) : pre_(pre) {
        const json& vocab = tokenizer.at("model").at("vocab");
        const json& added = tokenizer.at("added_tokens");
        tokens.resize(vocab.size() + added.size());
        keys.token_types.assign(tokens.size(), static_cast<int>(TokenKind::Normal));
        for (const auto& [text, id] : vocab.items()) tokens.at(id.get<std::size_t>()) = text;
        for (const json& token : added) {
            const auto id = token.at("id").get<std::size_t>();
            tokens.at(id) = token.at("content");
            const bool special = token.at("special");
            keys.token_types.at(id) = static_cast<int>(special ? TokenKind::Control : TokenKind::UserDefined);
        }
        for (const json& merge : tokenizer.at("model").at("merges"))
            merges.push_back(merge.at(0).get<std::string>() + " " + merge.at(1).get<std::string>());
        keys.model = "gpt2";
        keys.pre = pre_;
        keys.tokens.assign(tokens.begin(), tokens.end());
        keys.merges.assign(merges.begin(), merges.end());
    }
    ByteLevelGguf(const ByteLevelGguf&) = delete;
    ByteLevelGguf& operator=(const ByteLevelGguf&) = delete;

  private:
    std::string pre_;
};

struct SentencePieceGguf {
    std::vector<std::string> tokens;
    GgufTokenizerKeys keys;

    explicit SentencePieceGguf(const json& gguf) : tokens(gguf.at("tokens")) {
        keys.model = "llama";
        keys.tokens.assign(tokens.begin(), tokens.end());
        keys.scores = gguf.at("scores").get<std::vector<float>>();
        keys.token_types = gguf.at("token_type").get<std::vector<std::int32_t>>();
        keys.unknown = 0;
        keys.bos = 1;
        keys.eos = 2;
    }
    SentencePieceGguf(const SentencePieceGguf&) = delete;
    SentencePieceGguf& operator=(const SentencePieceGguf&) = delete;
};

}  // namespace voltpile::llm
