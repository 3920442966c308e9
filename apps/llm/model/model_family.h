// The descriptor of a family of models: its blocks, the names of its tensors, and how to read its metadata.
// Each family is a file in families/ and a line in families/all.cpp (docs/add_a_model.md).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "llm/model/gguf_keys.h"
#include "llm/model/json_keys.h"
#include "llm/model/model_config.h"

namespace voltpile::llm {

class GgufKeyWriter;

// A tensor's name in Hugging Face folders and its canonical name, both without the layer. A star stands for
// the number of an expert.
struct TensorName {
    std::string_view folder;
    std::string_view canonical;
};

struct ModelFamily {
    std::string_view name;        // "Qwen 2"
    std::string_view supported;   // in lists of what is supported: "Qwen 2 and 2.5"
    std::string_view model_type;  // in config.json
    // In config.json of models that also read images; the text model is in its "text_config".
    std::string_view model_type_with_images = "";
    std::string_view architecture;  // in GGUF
    // Chooses between families with one architecture: this word in the model's name, in lower case. Empty:
    // any other name.
    std::string_view word_in_gguf_name = "";

    bool mixture = false;  // of experts; GGUF may have dense models of the same architecture
    // Whether the joint parameter of a folder's experts alternates rows of gate and up.
    bool alternates_gate_and_up = false;
    // See Experts; of GGUF files and folders that lack the key.
    bool normalized_experts = false;
    bool sigmoid_router = false;

    bool latent_attention = false;  // see LatentAttention
    bool predicts = false;          // may have layers that predict further tokens, behind the others
    LayerBlocks blocks = {};
    RopeStyle rope_in_folder = RopeStyle::HalfSplit;
    RopeStyle rope_in_gguf = RopeStyle::HalfSplit;
    std::string_view folder_defaults = "{}";  // JSON: the values of keys that config.json may lack
    bool optional_qk_norm = false;            // GGUF files with the tensors of QkNorm::Heads use it
    bool partial_rotary = false;              // whether folders may have "partial_rotary_factor"
    bool begins_with_bos = false;             // prompts, unless tokenizer_config.json says otherwise
    std::span<const TensorName> names = {};   // tensors of a layer beyond, or instead of, the common ones
    // Tensors of a layer whose name in GGUF files is not the canonical one. `folder`: the name in GGUF.
    std::span<const TensorName> gguf_names = {};
    // Tensors of a layer that GGUF files have joined (fused_tensors.h), without the layer.
    std::span<const std::string_view> fused_in_gguf = {};
    std::span<const std::string_view> end_texts = {};  // tokens that end an answer, beside the common ones

    // Read what only this family has, after the common keys. nullptr: nothing.
    void (*read_folder)(const JsonKeys& keys, ModelConfig& config) = nullptr;
    void (*read_gguf)(const GgufKeys& keys, ModelConfig& config) = nullptr;
    // Writes what read_gguf reads.
    void (*write_gguf)(const ModelConfig& config, GgufKeyWriter& keys) = nullptr;
};

// Returns all families in the order in which messages list them.
std::span<const ModelFamily* const> all_families();

// Returns the family, or nullptr if none has this model_type (also that with images), or this architecture
// and name.
// mixture: whether the model has experts.
const ModelFamily* family_of_folder(std::string_view model_type);
const ModelFamily* family_of_gguf(std::string_view architecture, std::string_view model_name, bool mixture);

std::string supported_families();  // for messages

// Returns a flag for each layer, all set to `value`.
std::vector<bool> each_layer(const ModelConfig& config, bool value);

// Lets the layers whose flag is set use a window. Nothing slides if no flag is set.
void set_window(ModelConfig& config, std::int64_t window, std::vector<bool> slides);

// Makes the first `count` layers of a mixture dense.
void set_dense_begin(ModelConfig& config, std::int64_t count);

// Returns a flag for each layer: whether its entry of "layer_types" is "sliding_attention". Empty if the key
// is absent or its length is not the number of layers.
std::vector<bool> sliding_layers(const JsonKeys& keys, const ModelConfig& config);

}  // namespace voltpile::llm
