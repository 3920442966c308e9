// How many tokens to guess ahead for a sequence: as many as make a pass worth more than it costs.
#pragma once

#include <functional>
#include <span>
#include <vector>

namespace voltpile::llm {

// How often the tokens guessed for a sequence turned out right. Recent guesses count more.
class GuessRecord {
  public:
    // Estimates the probability that the next guess is right, if all before it are.
    double hit_rate() const { return hits_ / (hits_ + misses_); }
    // A pass that checked `guessed` tokens found that the first `right` of them were right.
    void learn(int guessed, int right);
    // A guess was not worth checking. The record fades a little, so that later ones are tried again.
    // faded: the share of it that is forgotten.
    void skip(double faded = kFaded);

    static constexpr double kFaded = 0.03;

  private:
    // As if two of three guesses had been right.
    static constexpr double kHitsAtFirst = 2, kMissesAtFirst = 1;
    static constexpr double kKept = 0.8;  // of the record at each check: that of about five checks counts

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

// A sequence that tokens can be guessed for.
struct GuessChance {
    double hit_rate = 0;
    int most = 0;  // guesses
};

// Returns how many tokens a draft model should guess for each sequence of a pass, so that the tokens per
// second are the most; 0 for all if none gain enough. The pass has `rows` rows without guesses, each of which
// gives a token, and at most most_rows with them. seconds(n): the time of a pass of n rows.
// draft_seconds(n): the time in which the draft model guesses one more token for each of n sequences.
std::vector<int> best_draft_lengths(std::span<const GuessChance> chances, int rows, int most_rows,
                                    const std::function<double(int)>& seconds,
                                    const std::function<double(int)>& draft_seconds);

}  // namespace voltpile::llm
