// A batch on its way from the host to the processor of Ops.
#pragma once

#include "llm/decoder/upload_block.h"
#include "llm/ops/ops.h"

namespace voltpile::llm {

// The most that a pass may have.
struct BatchLimits {
    int rows = 512;
    int sequences = 64;
    int pages_per_sequence = 64;
    int logits = 64;
};

// Throws std::out_of_range for a batch beyond the limits.
void check_limits(const Batch& batch, const BatchLimits& limits);

// As a part of a block: at the same addresses for batches of the same numbers.
std::size_t upload_bytes(const Batch& batch);
BatchView add_to(UploadBlock& block, const Batch& batch);

class BatchBuffer {
  public:
    BatchBuffer(Ops& ops, const BatchLimits& limits) : limits_(limits), block_(ops) {}

    // One upload. The view is valid until the next. Throws std::out_of_range for a batch beyond the limits.
    BatchView upload(const Batch& batch);

  private:
    BatchLimits limits_;
    UploadBlock block_;
};

}  // namespace voltpile::llm
