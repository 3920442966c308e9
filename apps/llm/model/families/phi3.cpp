// Phi 3 and 4. Files have fused QKV and gate-up matrices.
#include <array>

#include "llm/model/model_family.h"

namespace voltpile::llm {
namespace {

constexpr std::array<std::string_view, 1> kPhi3Ends = {"<|end|>"};
constexpr std::array<std::string_view, 2> kPhi3Fused = {"attn_qkv.weight", "ffn_up.weight"};

// As in transformers, the window applies to all layers.
void read_phi3(const JsonKeys& keys, ModelConfig& config) {
    if (const auto window = keys.integer("sliding_window"))
        set_window(config, *window, each_layer(config, true));
}

}  // namespace

extern const ModelFamily kPhi3;
const ModelFamily kPhi3 = {
    .name = "Phi 3",
    .supported = "Phi 3 and 4",
    .model_type = "phi3",
    .architecture = "phi3",
    .partial_rotary = true,
    .fused_in_gguf = kPhi3Fused,
    .end_texts = kPhi3Ends,
    .read_folder = read_phi3,
};

}  // namespace voltpile::llm
