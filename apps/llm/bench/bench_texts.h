// Texts that a bench has a replica work on: random prompts, then token after token, all alike.
#pragma once

#include <memory>
#include <vector>

#include "llm/decoder/kv_pages.h"
#include "llm/replica/replica_passes.h"

namespace voltpile::llm {

class BenchTexts {
  public:
    // Of a replica that is asked for this.
    BenchTexts(const ReplicaRequest& request, int vocabulary)
        : rows_(request.rows), vocabulary_(vocabulary), pool_(request.pages()) {}

    // Starts anew: `count` texts of `tokens` each, in the same pages each time.
    void place(int count, int tokens);

    // As place(); their prompts go through, in passes as large as can be. On GPUs a pass is handed over ahead
    // of the one that runs, as by an engine. Throws LeaderError if the model gives no numbers.
    void read_prompts(PassExecutor& passes, int count, int tokens);

    // A token more for each text. Seconds of the `steps` passes, until the tokens of the last are known.
    // Throws as read_prompts().
    double generate(PassExecutor& passes, int steps);

    // Back to so many tokens of each text.
    void rewind(int tokens) { position_ = tokens; }

    // The batch of the next generate() step.
    Batch next_batch();
    // All of one prompt, or as much of it as a pass takes.
    Batch prompt_batch(int tokens);

    struct Answered {
        double seconds = 0;  // until the token was known
        int passes = 0;
    };
    // An engine answers the first text's prompt with one token. It finds nothing of it in the cache. Throws
    // as read_prompts().
    Answered answer_prompt(ReplicaPasses& passes, int tokens) const;

  private:
    std::int32_t token(int text, int position) const {
        return static_cast<std::int32_t>((7919LL * position + 104729LL * text + 17) % vocabulary_);
    }
    std::vector<std::int32_t> prompt(int text, int tokens) const;
    void make_room(int tokens);

    int rows_;  // of a pass
    int vocabulary_;
    PagePool pool_;
    std::vector<SequencePages> pages_;
    int position_ = 0;  // of each text
};

}  // namespace voltpile::llm
