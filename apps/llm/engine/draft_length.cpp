#include "llm/engine/draft_length.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace voltpile::llm {

void GuessRecord::learn(int guessed, int right) {
    hits_ = kKept * hits_ + right;
    misses_ = kKept * misses_ + (right < guessed ? 1 : 0);
}

void GuessRecord::skip(double faded) {
    hits_ += faded * (kHitsAtFirst - hits_);
    misses_ += faded * (kMissesAtFirst - misses_);
}

double right_guesses(int guesses, double hit_rate) {
    double sum = 0, all = 1;
    for (int i = 0; i < guesses; ++i) sum += all *= hit_rate;
    return sum;
}

int best_guesses(int most, double hit_rate, int rows, double tokens,
                 const std::function<double(int)>& seconds) {
    int best = 0;
    double best_rate = kLeastGain * tokens / seconds(rows);
    double expected = tokens, all = 1;
    for (int i = 1; i <= most; ++i) {
        expected += all *= hit_rate;
        const double rate = expected / seconds(rows + i);
        if (rate <= best_rate) continue;
        best = i;
        best_rate = rate;
    }
    return best;
}

std::vector<int> best_draft_lengths(std::span<const GuessChance> chances, int rows, int most_rows,
                                    const std::function<double(int)>& seconds,
                                    const std::function<double(int)>& draft_seconds) {
    std::vector<int> best(chances.size(), 0), lengths = best;
    std::vector<std::size_t> guessing(chances.size());  // the most likely first
    std::iota(guessing.begin(), guessing.end(), std::size_t{0});
    std::ranges::stable_sort(guessing, std::greater(), [&](std::size_t i) { return chances[i].hit_rate; });
    double tokens = rows, drafting = 0;
    double best_rate = kLeastGain * tokens / seconds(rows);
    // Each turn adds a guess for those sequences for which the pass then gives the most tokens per second. It
    // may pay only together with the guesses of later turns.
    for (int length = 1;; ++length) {
        std::erase_if(guessing, [&](std::size_t i) { return chances[i].most < length; });
        double right = 0, turn_rate = 0, turn_tokens = 0;
        std::size_t turn = 0;
        for (std::size_t n = 1; n <= guessing.size() && rows + static_cast<int>(n) <= most_rows; ++n) {
            right += std::pow(chances[guessing[n - 1]].hit_rate, length);
            const auto count = static_cast<int>(n);
            const double rate = (tokens + right) / (seconds(rows + count) + drafting + draft_seconds(count));
            if (rate <= turn_rate) continue;
            turn_rate = rate;
            turn_tokens = tokens + right;
            turn = n;
        }
        if (turn == 0) return best;
        guessing.resize(turn);
        for (const std::size_t i : guessing) lengths[i] = length;
        rows += static_cast<int>(turn);
        tokens = turn_tokens;
        drafting += draft_seconds(static_cast<int>(turn));
        if (turn_rate <= best_rate) continue;
        best_rate = turn_rate;
        best = lengths;
    }
}

}  // namespace voltpile::llm
