// The memory of a model's adapters.
#pragma once

#include <cstdint>

#include "llm/model/model_memory.h"
#include "llm/model/tensor_parallel.h"

namespace voltpile::llm {

// Returns what activations the adapters of a model need.
AdapterBuffers adapter_buffers(const ModelSource& model);

// Whether an adapter changes matrices of experts.
bool adapts_experts(const ModelSource::Adapters& adapters);

// Returns the bytes of the factors of all adapters for a layer on a rank with this share: fp32 on cores, fp16
// on GPUs. An adapter takes its largest rank in all matrices that multiply the same input.
std::uint64_t adapter_bytes(const ModelSource& model, WeightLayout layout, const RankShare& share,
                            std::int64_t layer);

}  // namespace voltpile::llm
