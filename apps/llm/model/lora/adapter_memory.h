// The memory of a model's adapters.
#pragma once

#include <cstdint>

#include "llm/model/model_memory.h"
#include "llm/model/tensor_parallel.h"

namespace voltpile::llm {

// Whether an adapter changes a gate or up matrix. Their products then need memory before they are gated.
bool gates_apart(const ModelSource& model);

// Returns the bytes of the factors of all adapters for a layer on a rank with this share: fp32 on cores, fp16
// on GPUs. An adapter takes its largest rank in all matrices that multiply the same input.
std::uint64_t adapter_bytes(const ModelSource& model, WeightLayout layout, const RankShare& share,
                            std::int64_t layer);

}  // namespace voltpile::llm
