// Reads the vocabulary of a GGUF file from its metadata keys tokenizer.ggml.*.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "llm/tokenizer/vocabulary.h"

namespace voltpile::llm {

// Values of the keys named in the comments, after "tokenizer.ggml."; empty if the file lacks the key.
struct GgufTokenizerKeys {
    std::string_view model;                 // model: "llama" (SentencePiece) or "gpt2" (byte-level BPE)
    std::string_view pre;                   // pre
    std::vector<std::string_view> tokens;   // tokens
    std::vector<float> scores;              // scores
    std::vector<std::int32_t> token_types;  // token_type
    std::vector<std::string_view> merges;   // merges: "left right", the first has the lowest rank
    std::optional<std::uint32_t> bos;       // bos_token_id
    std::optional<std::uint32_t> eos;       // eos_token_id
    std::optional<std::uint32_t> unknown;   // unknown_token_id
    std::optional<bool> add_bos;            // add_bos_token
    std::optional<bool> add_eos;            // add_eos_token
    std::optional<bool> add_space_prefix;   // add_space_prefix
};

// Builds the vocabulary. path: the file, for messages. Throws JobError with the key and its problem.
Vocabulary vocabulary_from_gguf(const GgufTokenizerKeys& keys, std::string_view path);

}  // namespace voltpile::llm
