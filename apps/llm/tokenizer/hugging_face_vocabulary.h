// The vocabulary of a Hugging Face folder: tokenizer.json (of the `tokenizers` library) and
// tokenizer_config.json.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "llm/tokenizer/vocabulary.h"

namespace voltpile::llm {

// Models of type BPE, byte-level or with byte fallback; normalizers NFC, Prepend and Replace of the space;
// pre-tokenizers Split, Digits, ByteLevel and Metaspace. Anything else throws JobError that names it and
// lists what is supported, as does whatever is malformed. `config` (null: there is none) says which tokens
// are bos and eos, and whether they are added where tokenizer.json does not. `path` of tokenizer.json is for
// the messages.
Vocabulary vocabulary_from_hugging_face(const nlohmann::json& tokenizer, const nlohmann::json& config,
                                        std::string_view path);

}  // namespace voltpile::llm
