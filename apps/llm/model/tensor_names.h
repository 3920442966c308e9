// Translates names of tensors in Hugging Face folders and GGUF files.
#pragma once

#include <string>
#include <string_view>

#include "llm/model/model_family.h"

namespace voltpile::llm {

// Returns GGUF's name for a tensor of a Hugging Face model: "blk.3.attn_q.weight" for
// "model.layers.3.self_attn.q_proj.weight". Leaves unknown names unchanged.
std::string canonical_name(std::string_view in_folder, const ModelFamily& family);

// The same for the names in GGUF files: leaves all but those in family.gguf_names unchanged. gguf_name() is
// the inverse.
std::string canonical_name_of_gguf(std::string_view in_file, const ModelFamily& family);
std::string gguf_name(std::string_view canonical, const ModelFamily& family);

// Whether a tensor, by its name in a folder or a GGUF file, belongs to config.prediction_layers.
bool is_for_prediction(std::string_view name, const ModelConfig& config);

// Whether a tensor of a model with images belongs to the part that reads them.
bool is_for_images(std::string_view in_folder, const ModelFamily& family);

}  // namespace voltpile::llm
