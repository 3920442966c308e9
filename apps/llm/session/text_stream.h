// Generates one sequence after the other with an engine, with a callback for each token.
#pragma once

#include "llm/engine/engine.h"

namespace voltpile::llm {

class TextStream {
  public:
    // engine: has no other requests, and must outlive this object. context: tokens of its longest sequence.
    TextStream(Engine& engine, int context) : engine_(engine), context_(context) {}

    // Generates request.max_tokens tokens, or fewer if the context is full earlier. Successive sequences draw
    // differently. Throws JobError as RequestQueue::submit() does, LeaderError if the logits are not finite,
    // and what the callback throws.
    Outcome write(Request request, OnDelta on_delta);

  private:
    Engine& engine_;
    int context_;
    std::int32_t drawn_ = 0;  // tokens of all sequences so far
};

}  // namespace voltpile::llm
