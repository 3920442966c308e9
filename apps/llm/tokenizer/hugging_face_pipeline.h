// The stages that tokenizer.json describes around its model. Each reads one field (null: no such stage) into
// the vocabulary, and throws JobError "path: stage: ..." for what is missing or not supported.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "llm/tokenizer/vocabulary.h"

namespace voltpile::llm {

void read_normalizer(const nlohmann::json& normalizer, Vocabulary& vocabulary, std::string_view path);
// Also finds out the vocabulary's kind.
void read_pre_tokenizer(const nlohmann::json& pre_tokenizer, Vocabulary& vocabulary, std::string_view path);
// Sets prefix and suffix; the tokens are there already. Returns whether it has a template.
bool read_post_processor(const nlohmann::json& post_processor, Vocabulary& vocabulary, std::string_view path);
void read_decoder(const nlohmann::json& decoder, Vocabulary& vocabulary, std::string_view path);

}  // namespace voltpile::llm
