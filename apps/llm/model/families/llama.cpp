// Llama 2 to 3.2.
#include "llm/model/model_family.h"

namespace voltpile::llm {

extern const ModelFamily kLlama;
const ModelFamily kLlama = {
    .name = "Llama",
    .supported = "Llama 2 to 3.2",
    .model_type = "llama",
    .architecture = "llama",
    .rope_in_gguf = RopeStyle::Interleaved,
    .begins_with_bos = true,
};

}  // namespace voltpile::llm
