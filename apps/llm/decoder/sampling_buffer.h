// Uploads sampling settings from the host to the memory of Ops.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "llm/decoder/upload_block.h"
#include "llm/ops/ops.h"

namespace voltpile::llm {

// How one row of logits is sampled.
struct SamplingRow {
    const SamplingSettings* settings = nullptr;
    std::int32_t step = 0;                                          // tokens that the sequence has drawn
    const std::map<std::int32_t, std::int32_t>* history = nullptr;  // counts of its tokens, prompt included
    int top_n = 0;  // how many of the most probable tokens to report, at most Ops::most_top
    const std::vector<std::uint32_t>* mask =
        nullptr;  // tokens that may be drawn, see SamplingView; nullptr: all
};

// Adds sampling settings to an upload block, as its last part. The same number of rows gets the same
// addresses, except for token histories, logit biases and masks, which move when histories or biases double
// in length.
std::size_t upload_bytes(std::span<const SamplingRow> rows);
SamplingView add_to(UploadBlock& block, std::span<const SamplingRow> rows);

class SamplingBuffer {
  public:
    explicit SamplingBuffer(Ops& ops) : block_(ops) {}

    // Uploads in one transfer. The view is valid until the next call.
    SamplingView upload(std::span<const SamplingRow> rows);

  private:
    UploadBlock block_;
};

}  // namespace voltpile::llm
