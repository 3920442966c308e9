// Generates one sequence after the other on a replica, with a callback for each token.
#pragma once

#include "llm/engine/engine.h"
#include "llm/replica/replica_passes.h"

namespace voltpile::llm {

class TextStream {
  public:
    // On the leader, while the other ranks follow. `passes` must outlive it.
    TextStream(ReplicaPasses& passes, const ModelConfig& config);

    struct Written {
        Outcome outcome;      // without text, because the callback has had the tokens
        int prompt_rows = 0;  // prompt tokens that were computed and not found in the cache
    };

    // Generates request.max_tokens tokens, or fewer if the context is full earlier. Successive sequences draw
    // differently. Throws JobError as Engine::submit() does, and LeaderError if the logits are not finite.
    Written write(Request request, Engine::OnToken on_token);

  private:
    Engine engine_;
    int context_;
    std::int32_t drawn_ = 0;  // tokens of all sequences so far
};

}  // namespace voltpile::llm
