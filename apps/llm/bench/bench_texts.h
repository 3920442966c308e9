// Texts that a bench has a replica work on: random prompts, then token after token, all alike.
#pragma once

#include <vector>

#include "llm/decoder/kv_pages.h"
#include "llm/run/replica.h"

namespace voltpile::llm {

// Every rank of the team keeps the same texts and makes the same calls.
class BenchTexts {
  public:
    BenchTexts(Replica& replica, int vocabulary)
        : replica_(replica), vocabulary_(vocabulary), pool_(replica.request().pages()) {}

    // Starts anew: `count` prompts of `tokens` each go through, in passes as large as can be. Seconds until a
    // token has been drawn for each.
    double read_prompts(int count, int tokens);

    // A token more for each text. Seconds of the `steps` passes, each until its tokens are known.
    double generate(int steps);

    // Back to so many tokens of each text.
    void rewind(int tokens) { position_ = tokens; }

    // The batch of the next generate() step.
    Batch next_batch();
    // All of one prompt, or as much of it as a pass takes.
    Batch prompt_batch(int tokens);

  private:
    std::int32_t token(int text, int position) const {
        return static_cast<std::int32_t>((7919LL * position + 104729LL * text + 17) % vocabulary_);
    }
    void make_room(int tokens);

    const SamplingSettings greedy_;
    Replica& replica_;
    int vocabulary_;
    PagePool pool_;
    std::vector<SequencePages> pages_;
    int position_ = 0;  // of each text
};

}  // namespace voltpile::llm
