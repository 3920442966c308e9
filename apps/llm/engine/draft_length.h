// How many tokens to guess ahead for a sequence: as many as make a pass worth more than it costs.
#pragma once

#include <functional>

namespace voltpile::llm {

// How often the tokens guessed for a sequence turned out right. Recent guesses count more.
class GuessRecord {
  public:
    // Estimates the probability that the next guess is right, if all before it are.
    double hit_rate() const { return hits_ / (hits_ + misses_); }
    // A pass that checked `guessed` tokens found that the first `right` of them were right.
    void learn(int guessed, int right);
    // A guess was not worth checking. The record fades a little, so that later ones are tried again.
    void skip();

  private:
    // As if two of three guesses had been right.
    static constexpr double kHitsAtFirst = 2, kMissesAtFirst = 1;
    static constexpr double kKept = 0.8;    // of the record at each check: that of about five checks counts
    static constexpr double kFaded = 0.03;  // of it at each skip

    double hits_ = kHitsAtFirst, misses_ = kMissesAtFirst;
};

// A pass without guesses must be slower than this multiple of one with them, per token: what is known of
// passes is not exact.
constexpr double kLeastGain = 1.03;

// Returns the mean number of right guesses of `guesses` in a row: the sum of hit_rate^i for i = 1 .. guesses.
double right_guesses(int guesses, double hit_rate);

// Returns how many guesses, at most `most`, give the most tokens per second when added to a pass of `rows`
// rows that gives `tokens` tokens without them; 0 if none gain enough. seconds(n): the time of a pass of n
// rows, in any unit.
int best_guesses(int most, double hit_rate, int rows, double tokens,
                 const std::function<double(int)>& seconds);

}  // namespace voltpile::llm
