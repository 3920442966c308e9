// The split patterns of the pre-tokenizers that GGUF files name. The names are llama.cpp's, the patterns come
// from the models' tokenizer.json.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace voltpile::llm {

struct PreTokenizer {
    std::vector<std::string> split_patterns;
    bool nfc = false;
    bool ignore_merges = false;
    bool add_bos = false;  // unless the file says otherwise
};

// Returns a pre-tokenizer by name; the empty name of old files is "default". path: for the message. Throws
// JobError, which lists the supported names, for any other name.
PreTokenizer pre_tokenizer_named(std::string_view name, std::string_view path);

// Returns the name of a pre-tokenizer with these patterns and normalization. Prefers one that also agrees
// about ignore_merges, which matters only for tokens that merges cannot build. Empty if there is none.
std::string_view pre_tokenizer_name(const PreTokenizer& pre_tokenizer);

// The pattern of GPT-2, which ByteLevel pre-tokenizers in tokenizer.json use if `use_regex` is true.
extern const std::string_view kGpt2Pattern;

}  // namespace voltpile::llm
