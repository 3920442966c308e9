// Translates names of tensors in Hugging Face folders.
#pragma once

#include <string>
#include <string_view>

#include "llm/model/model_family.h"

namespace voltpile::llm {

// Returns GGUF's name for a tensor of a Hugging Face model: "blk.3.attn_q.weight" for
// "model.layers.3.self_attn.q_proj.weight". Leaves unknown names unchanged.
std::string canonical_name(std::string_view in_folder, const ModelFamily& family);

// Whether a tensor of a model with images belongs to the part that reads them.
bool is_for_images(std::string_view in_folder, const ModelFamily& family);

}  // namespace voltpile::llm
