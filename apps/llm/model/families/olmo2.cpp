// OLMo 2: no norms before attention and feed-forward part but behind them, and QK norm over all heads
// together.
#include <array>

#include "llm/model/model_family.h"

namespace voltpile::llm {
namespace {

constexpr std::array kOlmo2Names = {
    TensorName{"post_attention_layernorm.weight", "post_attention_norm.weight"},
    TensorName{"post_feedforward_layernorm.weight", "post_ffw_norm.weight"}};

}  // namespace

extern const ModelFamily kOlmo2;
const ModelFamily kOlmo2 = {
    .name = "OLMo 2",
    .supported = "OLMo 2",
    .model_type = "olmo2",
    .architecture = "olmo2",
    .blocks = {.qk_norm = QkNorm::Row, .input_norms = false, .output_norms = true},
    .names = kOlmo2Names,
};

}  // namespace voltpile::llm
