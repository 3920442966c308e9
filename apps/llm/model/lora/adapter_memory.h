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

// The bytes of the factors of all adapters for a layer on a rank.
struct AdapterBytes {
    std::uint64_t experts = 0;
    std::uint64_t others = 0;  // of all matrices but those of experts
};

// Returns the bytes for a rank with this share: fp32 on cores; on GPUs fp16, and the tables by which kernels
// find them. An adapter takes its largest rank in all matrices that multiply the same input.
AdapterBytes adapter_bytes(const ModelSource& model, WeightLayout layout, const RankShare& share,
                           std::int64_t layer);

}  // namespace voltpile::llm
