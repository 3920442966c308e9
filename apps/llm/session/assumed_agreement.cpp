#include "llm/session/assumed_agreement.h"

#include <utility>

namespace voltpile::llm {

void AssumedAgreement::enqueue(const PlannedPass& pass) {
    const Batch& batch = pass.batch;
    std::vector<std::int32_t>& guesses = guesses_.emplace_back();
    for (const std::int32_t row : batch.logit_row) {
        const auto next = static_cast<std::size_t>(row) + 1;
        const bool guessed = next < batch.token.size() && batch.sequence[next] == batch.sequence[next - 1];
        guesses.push_back(guessed ? batch.token[next] : -1);
    }
    passes_.enqueue(pass);
}

std::vector<DrawnToken> AssumedAgreement::collect() {
    std::vector<DrawnToken> drawn = passes_.collect();
    const std::vector<std::int32_t> guesses = std::move(guesses_.front());
    guesses_.pop_front();
    std::uniform_real_distribution<double> uniform;
    for (std::size_t i = 0; i < drawn.size(); ++i)
        if (guesses[i] >= 0 && drawn[i].token >= 0 && uniform(random_) < share_) drawn[i].token = guesses[i];
    return drawn;
}

}  // namespace voltpile::llm
