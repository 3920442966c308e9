#include "llm/engine/draft_length.h"

namespace voltpile::llm {

void GuessRecord::learn(int guessed, int right) {
    hits_ = kKept * hits_ + right;
    misses_ = kKept * misses_ + (right < guessed ? 1 : 0);
}

void GuessRecord::skip() {
    hits_ += kFaded * (kHitsAtFirst - hits_);
    misses_ += kFaded * (kMissesAtFirst - misses_);
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

}  // namespace voltpile::llm
