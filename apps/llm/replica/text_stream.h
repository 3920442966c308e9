// One text after the other from a replica, each token told as it comes: for somebody who reads along.
#pragma once

#include "llm/engine/engine.h"
#include "llm/replica/replica_passes.h"

namespace voltpile::llm {

class TextStream {
  public:
    // On the leader, while the others follow. `passes` outlive it.
    TextStream(ReplicaPasses& passes, const ModelConfig& config);

    struct Written {
        Outcome outcome;      // without a text: its tokens have been told
        int prompt_rows = 0;  // tokens of the prompt that were computed, not found in the cache
    };

    // A text of request.max_tokens, or fewer if the context is full before. No two draw alike. Throws
    // JobError as Engine::submit, LeaderError if the model gives no numbers to draw from.
    Written write(Request request, Engine::Told told);

  private:
    Engine engine_;
    int context_;
    std::int32_t drawn_ = 0;  // tokens, of all texts
};

}  // namespace voltpile::llm
