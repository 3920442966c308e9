// Quantized keys and values as fp16, for kernels of compute capability 9.0 that take no others.
#pragma once

#include "llm/ops/cuda/attention.h"

namespace voltpile::llm {

// Returns the bytes that expand_cache() needs.
std::size_t expanded_cache_bytes(const AttentionArgs& args);

// Enqueues the expansion of what the rows of prompts see: sequences with several rows. Returns arguments with
// the expanded cache and its page table. memory: of expanded_cache_bytes(), 256-byte aligned.
AttentionArgs expand_cache(const AttentionArgs& args, std::uint8_t* memory, const Stream& stream);

}  // namespace voltpile::llm
