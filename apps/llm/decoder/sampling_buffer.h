// How the next tokens are to be drawn, on its way from the host to the processor of Ops.
#pragma once

#include <map>
#include <span>

#include "llm/decoder/upload_block.h"
#include "llm/ops/ops.h"

namespace voltpile::llm {

// Of one row of logits.
struct SamplingRow {
    const SamplingSettings* settings = nullptr;
    std::int32_t step = 0;                                          // tokens drawn so far
    const std::map<std::int32_t, std::int32_t>* history = nullptr;  // token -> how often, prompt included
    int top_n = 0;  // most probable tokens that are to be told beside it, at most Ops::most_top
};

// As a part of a block, the last one: at the same addresses for as many rows, but for lists of tokens
// (histories and biases), which move when they have become twice as long.
std::size_t upload_bytes(std::span<const SamplingRow> rows);
SamplingView add_to(UploadBlock& block, std::span<const SamplingRow> rows);

class SamplingBuffer {
  public:
    explicit SamplingBuffer(Ops& ops) : block_(ops) {}

    // One upload. The view is valid until the next.
    SamplingView upload(std::span<const SamplingRow> rows);

  private:
    UploadBlock block_;
};

}  // namespace voltpile::llm
