// Assembles the batch of a pass on the host.
#pragma once

#include <span>

#include "llm/decoder/kv_pages.h"
#include "llm/ops/batch.h"

namespace voltpile::llm {

enum class WantLogits { None, Last, All };

class BatchBuilder {
  public:
    // Adds the next tokens of a sequence, at positions from `position` on. `pages` must have room for them.
    // Returns the index of the sequence's first row of logits. Add each sequence once. Throws
    // std::logic_error for no tokens and for too few pages.
    // adapter: of all its tokens; -1: none.
    int add(std::span<const std::int32_t> pages, std::span<const std::int32_t> tokens, int position,
            WantLogits logits, int adapter = -1);
    int add(const SequencePages& pages, std::span<const std::int32_t> tokens, int position, WantLogits logits,
            int adapter = -1) {
        return add(pages.pages(), tokens, position, logits, adapter);
    }

    Batch take();  // leaves the builder empty

  private:
    Batch batch_;
    std::vector<std::vector<std::int32_t>> pages_;
};

}  // namespace voltpile::llm
