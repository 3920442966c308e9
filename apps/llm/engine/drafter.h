// The interface of what guesses the next tokens of sequences for a Scheduler.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "llm/engine/sequence.h"

namespace voltpile::llm {

class Drafter {
  public:
    struct Task {
        const Sequence* sequence = nullptr;  // all its tokens are known
        int tokens = 0;                      // to guess, 1 .. most(sequence)
    };

    virtual ~Drafter() = default;

    // Returns how many tokens can be guessed after the tokens of a sequence and `more`.
    virtual int most(const Sequence& sequence, int more) const = 0;

    // Returns the time in which one more token is guessed for each of this many sequences, in the unit of
    // SchedulerSettings::draft_pace.
    virtual double seconds(int sequences) const = 0;

    // Guesses tokens for all sequences together. Returns those of each task: at most as many as wanted, fewer
    // or none if it knows no more. The sequence's grammar allows them. Throws Error if its passes fail.
    virtual std::vector<std::vector<std::int32_t>> guess(std::span<const Task> tasks) = 0;

    // A sequence has ended; its id may be used again.
    virtual void forget(std::int64_t id) = 0;
};

}  // namespace voltpile::llm
