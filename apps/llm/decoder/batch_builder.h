// Puts the batch of a pass together on the host.
#pragma once

#include <span>

#include "llm/decoder/kv_pages.h"
#include "llm/ops/batch.h"

namespace voltpile::llm {

enum class WantLogits { None, Last, All };

class BatchBuilder {
  public:
    // The next tokens of a sequence, at positions from `position` on; its pages have room for them. Returns
    // the index of its first row of logits. No sequence comes twice in a batch.
    int add(std::span<const std::int32_t> pages, std::span<const std::int32_t> tokens, int position,
            WantLogits logits);
    int add(const SequencePages& pages, std::span<const std::int32_t> tokens, int position,
            WantLogits logits) {
        return add(pages.pages(), tokens, position, logits);
    }

    Batch take();  // the builder is empty again

  private:
    Batch batch_;
    std::vector<std::vector<std::int32_t>> pages_;
};

}  // namespace voltpile::llm
