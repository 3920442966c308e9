// Reads the vocabulary of a Hugging Face folder: tokenizer.json (of the `tokenizers` library) and
// tokenizer_config.json.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "llm/tokenizer/vocabulary.h"

namespace voltpile::llm {

// Supports models of type BPE, byte-level or with byte fallback; the normalizers NFC, Prepend and Replace of
// the space; and the pre-tokenizers Split, Digits, ByteLevel and Metaspace. Throws JobError for anything
// else, with its name and a list of what is supported, and for malformed files. config: the contents of
// tokenizer_config.json, or null; it names the tokens bos and eos, and says whether to add them if
// tokenizer.json does not. path: tokenizer.json, for messages.
Vocabulary vocabulary_from_hugging_face(const nlohmann::json& tokenizer, const nlohmann::json& config,
                                        std::string_view path);

}  // namespace voltpile::llm
