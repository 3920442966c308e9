// Finds what of a model has no keys in GGUF files.
#pragma once

#include <string>
#include <vector>

#include "llm/model/model_source.h"

namespace voltpile::llm {

// Writes the keys of add_model_keys(), reads them back, and names the parts of the description that differ
// then: GGUF files of the family have no key for them, and readers assume the values of the published models.
std::vector<std::string> lost_in_gguf(const ModelSource& model);

// Returns general.name of the model's file. Families with one architecture are told apart by a word in it.
std::string gguf_model_name(const ModelConfig& config);

}  // namespace voltpile::llm
