#include "llm/eval/score_text.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "llm/decoder/batch_builder.h"
#include "llm/eval/logit_scores.h"

namespace voltpile::llm {
namespace {

// Adds the scores of the tokens that follow each row of logits.
void score_rows(std::span<const std::int32_t> following, std::span<const float> logits,
                std::span<const float> reference, CpuTeam& team, TextScores& scores) {
    const std::size_t vocabulary = logits.size() / following.size();
    std::vector<double> losses(following.size());
    std::vector<LogitDifference> differences(reference.empty() ? 0 : following.size());
    team.for_each(std::ssize(losses), [&](std::int64_t item, int) {
        const auto row = static_cast<std::size_t>(item);
        const auto mine = logits.subspan(row * vocabulary, vocabulary);
        losses[row] = token_loss(mine, following[row]);
        if (!differences.empty())
            differences[row] = compare_logits(mine, reference.subspan(row * vocabulary, vocabulary));
    });
    for (const double loss : losses)
        if (!std::isfinite(loss))
            throw Error(ExitCode::Failed, "the logits of the model are not finite numbers");
    scores.losses.insert(scores.losses.end(), losses.begin(), losses.end());
    for (const LogitDifference& each : differences) {
        if (!std::isfinite(each.divergence))
            throw Error(ExitCode::Failed, "the logits of the reference are not finite numbers");
        scores.divergences.push_back(each.divergence);
        scores.same_top += each.same_top;
    }
}

}  // namespace

TextScores score_text(std::span<const EvalWindow> windows, const LogitPass& model, const LogitPass& reference,
                      const ScoreSettings& settings, CpuTeam& team) {
    TextScores scores;
    PagePool pool(settings.pages);
    for (const EvalWindow& window : windows) {
        const std::vector<std::int32_t> all = window.tokens();
        const std::span<const std::int32_t> tokens = all;
        // The logits of the last token belong to a token beyond the window.
        const std::size_t end = tokens.size() - 1;
        const auto first_wanted = static_cast<std::size_t>(window.first_scored) - 1;
        SequencePages pages(pool);
        pages.reserve(static_cast<int>(end));
        for (std::size_t begin = 0; begin < end;) {
            const bool wanted = begin >= first_wanted;
            const std::size_t room = (wanted ? end : std::min(end, first_wanted)) - begin;
            const std::size_t count = std::min(room, static_cast<std::size_t>(settings.pass_rows));
            BatchBuilder builder;
            builder.add(pages, tokens.subspan(begin, count), static_cast<int>(begin),
                        wanted ? WantLogits::All : WantLogits::None);
            const Batch batch = builder.take();
            const auto logits = model(batch);
            const auto other = reference ? reference(batch) : std::span<const float>();
            if (!logits.empty()) score_rows(tokens.subspan(begin + 1, count), logits, other, team, scores);
            settings.done(static_cast<std::int64_t>(count));
            begin += count;
        }
    }
    return scores;
}

}  // namespace voltpile::llm
