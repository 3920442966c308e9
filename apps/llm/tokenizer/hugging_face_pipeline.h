// Reads the stages around the model in tokenizer.json. Each function reads one field into the vocabulary;
// null means no such stage. All throw JobError "path: stage: ..." for anything missing or unsupported.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "llm/tokenizer/vocabulary.h"

namespace voltpile::llm {

void read_normalizer(const nlohmann::json& normalizer, Vocabulary& vocabulary, std::string_view path);
// Also sets the vocabulary's kind.
void read_pre_tokenizer(const nlohmann::json& pre_tokenizer, Vocabulary& vocabulary, std::string_view path);
// Sets prefix and suffix. The vocabulary must have its tokens. Returns whether the field has a template.
bool read_post_processor(const nlohmann::json& post_processor, Vocabulary& vocabulary, std::string_view path);
void read_decoder(const nlohmann::json& decoder, Vocabulary& vocabulary, std::string_view path);

}  // namespace voltpile::llm
