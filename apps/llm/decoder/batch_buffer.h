// A batch on its way from the host to the processor of Ops: one upload.
#pragma once

#include <memory>
#include <vector>

#include "llm/ops/ops.h"

namespace voltpile::llm {

// The most that a pass may have.
struct BatchLimits {
    int rows = 512;
    int sequences = 64;
    int pages_per_sequence = 64;
    int logits = 64;
};

class BatchBuffer {
  public:
    BatchBuffer(Ops& ops, const BatchLimits& limits);

    // The view stays valid, at the same addresses for batches of the same numbers, until the next upload.
    // Throws std::out_of_range for a batch beyond the limits.
    BatchView upload(const Batch& batch);

  private:
    Ops& ops_;
    BatchLimits limits_;
    std::unique_ptr<OpsMemory> memory_;
    std::vector<std::int32_t> host_;
};

}  // namespace voltpile::llm
