// Uploads a batch from the host to the memory of Ops.
#pragma once

#include "llm/decoder/upload_block.h"
#include "llm/ops/ops.h"

namespace voltpile::llm {

// The largest pass.
struct BatchLimits {
    int rows = 512;
    int sequences = 64;
    int pages_per_sequence = 64;
    int logits = 64;
};

// Throws std::out_of_range if a batch exceeds the limits.
void check_limits(const Batch& batch, const BatchLimits& limits);

// Adds a batch to an upload block. Batches with the same numbers of rows, sequences and pages get the same
// addresses.
std::size_t upload_bytes(const Batch& batch);
BatchView add_to(UploadBlock& block, const Batch& batch);

class BatchBuffer {
  public:
    BatchBuffer(Ops& ops, const BatchLimits& limits) : limits_(limits), block_(ops) {}

    // Uploads a batch in one transfer. The view is valid until the next call. Throws std::out_of_range if the
    // batch exceeds the limits.
    BatchView upload(const Batch& batch);

  private:
    BatchLimits limits_;
    UploadBlock block_;
};

}  // namespace voltpile::llm
