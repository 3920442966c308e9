// How the next tokens are to be drawn, on its way from the host to the processor of Ops: one upload.
#pragma once

#include <map>
#include <memory>
#include <span>

#include "llm/ops/ops.h"

namespace voltpile::llm {

// Of one row of logits.
struct SamplingRow {
    const SamplingSettings* settings = nullptr;
    std::int32_t step = 0;                                          // tokens drawn so far
    const std::map<std::int32_t, std::int32_t>* history = nullptr;  // token -> how often, prompt included
};

class SamplingBuffer {
  public:
    explicit SamplingBuffer(Ops& ops) : ops_(ops) {}

    // The view is valid until the next upload.
    SamplingView upload(std::span<const SamplingRow> rows);

  private:
    Ops& ops_;
    std::unique_ptr<OpsMemory> memory_;
};

}  // namespace voltpile::llm
