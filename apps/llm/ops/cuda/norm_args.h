// The RMS norm of rows that a kernel computes before its own work.
#pragma once

#include <cstdint>

#include "llm/ops/half_limit.h"

namespace voltpile::llm {

// See Ops::add_rms_norm. Pointers are to GPU memory and are not owned. x == nullptr: no norm.
struct NormArgs {
    float* x = nullptr;  // (rows, columns), 16-byte aligned; columns a multiple of 32
    // Of the same shape, and (columns): added to x before, or nullptr. Only for takers that say so.
    const float *delta = nullptr, *bias = nullptr;
    const float* weight = nullptr;
    float eps = 0;
    void* out = nullptr;              // fp16 (rows, columns)
    float limit = half_limit(false);  // applied to out
    std::uint64_t place = 0;          // sentinel_place()
    std::uint64_t* sentinel = nullptr;
};

}  // namespace voltpile::llm
