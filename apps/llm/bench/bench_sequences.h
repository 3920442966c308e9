// The sequences of a benchmark: random prompts, then token after token, all with the same length.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "llm/decoder/kv_pages.h"
#include "llm/replica/replica_passes.h"

namespace voltpile::llm {

class BenchSequences {
  public:
    // request: of the replica under test. adapters: of the model, which the sequences take in turn.
    BenchSequences(const ReplicaRequest& request, int vocabulary, std::vector<std::string> adapters)
        : rows_(request.rows),
          vocabulary_(vocabulary),
          adapters_(std::move(adapters)),
          pool_(request.pages()) {}

    // Starts over with `count` sequences of `tokens` tokens, in the same pages each time.
    void place(int count, int tokens);

    // Does what place() does and prefills the prompts, in the largest possible passes. On GPUs enqueues a
    // pass while the previous one runs, as an engine does. Throws LeaderError if the logits are not finite.
    void prefill(PassExecutor& passes, int count, int tokens);

    // Runs `steps` decode steps of all sequences, which pipeline stages divide among their lanes as an engine
    // does. Returns the seconds until the last step's tokens are known. Throws as prefill() does.
    double generate(PassExecutor& passes, int steps);
    // Returns how many passes a step of the sequences takes.
    int passes_of_step(const PassExecutor& passes) const;

    // Shortens each sequence to `tokens` tokens.
    void rewind(int tokens) { position_ = tokens; }

    // Returns the batch of the next decode step, of every lanes-th sequence from `lane` on.
    Batch next_batch(int lane = 0, int lanes = 1);
    // Starts over with one sequence and returns a batch with its prompt, or with as much of it as fits into a
    // pass.
    Batch prompt_batch(int tokens);

    struct Answered {
        double seconds = 0;  // until the token was known
        int passes = 0;
    };
    // Lets an engine with an empty prefix cache answer the first sequence's prompt with one token. Throws as
    // prefill() does.
    Answered answer_prompt(ReplicaPasses& passes, int tokens) const;

    std::vector<std::int32_t> prompt(int sequence, int tokens) const;

  private:
    std::int32_t token(int sequence, int position) const {
        return static_cast<std::int32_t>((7919LL * position + 104729LL * sequence + 17) % vocabulary_);
    }
    int adapter(std::size_t sequence) const {
        return adapters_.empty() ? -1 : static_cast<int>(sequence % adapters_.size());
    }
    void make_room(int tokens);

    int rows_;  // the most in a pass
    int vocabulary_;
    std::vector<std::string> adapters_;
    PagePool pool_;
    std::vector<SequencePages> pages_;
    int position_ = 0;  // of each sequence
};

}  // namespace voltpile::llm
