// The pre-tokenizers that GGUF files name, as split patterns. The names and what they stand for are
// llama.cpp's, the patterns the models' own (tokenizer.json).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace voltpile::llm {

struct PreTokenizer {
    std::vector<std::string> split_patterns;
    bool nfc = false;
    bool ignore_merges = false;
    bool add_bos = false;  // where the file does not say
};

// Throws JobError that lists the supported ones for any other name; `path` is for the message. An empty name,
// as in old files, is "default".
PreTokenizer pre_tokenizer_named(std::string_view name, std::string_view path);

// Of GPT-2, which a ByteLevel pre-tokenizer of tokenizer.json means by `use_regex`.
extern const std::string_view kGpt2Pattern;

}  // namespace voltpile::llm
