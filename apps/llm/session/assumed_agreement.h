// Lets a draft model agree with the large one in a chosen share of the draws, for benchmarks with random
// weights: the work of a pass depends on how many guesses are right, not on the tokens.
#pragma once

#include <deque>
#include <random>

#include "llm/engine/pass.h"

namespace voltpile::llm {

class AssumedAgreement final : public PassExecutor {
  public:
    // passes: of the large model; must outlive this object. share: of the guesses that count as right.
    AssumedAgreement(PassExecutor& passes, double share) : passes_(passes), share_(share) {}

    int lanes() const override { return passes_.lanes(); }
    bool feeds() const override { return passes_.feeds(); }
    void enqueue(const PlannedPass& pass) override;
    void draw(const std::vector<Draw>& draws) override { passes_.draw(draws); }
    // Replaces tokens that were drawn by those that were guessed.
    std::vector<DrawnToken> collect() override;
    std::vector<TopTokens> top() override { return passes_.top(); }
    std::string why_no_numbers() override { return passes_.why_no_numbers(); }

  private:
    PassExecutor& passes_;
    double share_;
    std::mt19937_64 random_{1};
    std::deque<std::vector<std::int32_t>> guesses_;  // of each pass in flight: by draw; -1: none
};

}  // namespace voltpile::llm
