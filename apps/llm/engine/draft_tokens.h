// The numbers of tokens in a draft model whose logits cover only a part of the vocabulary, as those of EAGLE
// 3 heads do.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "llm/engine/pass.h"

namespace voltpile::llm {

class DraftTokens {
  public:
    DraftTokens() = default;  // the numbers are the same
    // tokens: of the vocabulary, one for each logit; empty: the numbers are the same.
    explicit DraftTokens(std::vector<std::int32_t> tokens);

    bool same() const { return tokens_.empty(); }
    // Returns the token of the vocabulary that a draw chose; -1 stays -1.
    std::int32_t in_vocabulary(std::int32_t drawn) const;
    // Returns the draw from the draft's logits that chooses among its tokens as `draw` does: with the same
    // penalties, biases and mask. Where the tokens ascend, the two agree for equal probabilities.
    Draw in_draft(Draw draw) const;

  private:
    std::vector<std::int32_t> tokens_;
    std::unordered_map<std::int32_t, std::int32_t> draft_of_;  // by token
};

}  // namespace voltpile::llm
