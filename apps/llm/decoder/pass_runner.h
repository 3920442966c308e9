// A rank's passes from host to host: the batch up, the decoder, and the drawn tokens down.
#pragma once

#include <span>
#include <vector>

#include "llm/decoder/batch_buffer.h"
#include "llm/decoder/decoder.h"
#include "llm/decoder/sampling_buffer.h"

namespace voltpile::llm {

struct DrawnToken {
    std::int32_t token = -1;  // -1: the row of logits held no numbers to draw from
    float log_probability = 0;
};

class PassRunner {
  public:
    // Both outlive it. limits: the decoder's.
    PassRunner(Decoder& decoder, Ops& ops, const BatchLimits& limits);

    // Enqueues the pass. On the last stage the logits, else nothing.
    FloatRows forward(const Batch& batch) { return decoder_.forward(batches_.upload(batch)); }

    // Draws a token for each row, and waits for them. sampling: one for each row.
    std::vector<DrawnToken> draw(FloatRows logits, std::span<const SamplingRow> sampling);

  private:
    Decoder& decoder_;
    Ops& ops_;
    BatchBuffer batches_;
    SamplingBuffer samplings_;
    int most_rows_;
    std::unique_ptr<OpsMemory> drawn_;  // tokens (rows) int32, then log_probability (rows) fp32
    std::vector<std::int32_t> seen_;    // the same on the host
};

}  // namespace voltpile::llm
