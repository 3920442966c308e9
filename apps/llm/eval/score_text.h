// Scores the tokens in the windows of a text with passes of one or two models.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "llm/eval/eval_windows.h"
#include "llm/ops/batch.h"
#include "llm/ops/cpu/team.h"

namespace voltpile::llm {

// Runs a pass. Returns its logits on the host, (batch.logit_row.size(), vocabulary), valid until the next
// call; nothing on ranks that do not have them.
using LogitPass = std::function<std::span<const float>(const Batch&)>;

struct TextScores {
    std::vector<double> losses;  // of each scored token in nats, in the order of the windows
    std::vector<double>
        divergences;            // KL divergence from the reference at the same places; empty without one
    std::int64_t same_top = 0;  // places where both have the same most probable token
};

struct ScoreSettings {
    int pass_rows = 0;  // the most tokens, and rows of logits, in a pass
    int pages = 0;      // of the KV cache, enough for the longest window
    std::function<void(std::int64_t tokens)> done = [](std::int64_t) {};  // called after each pass
};

// Scores all windows. Collective over the ranks of the passes; ranks without logits return no scores.
// reference: empty for none. team: threads that compute the sums. Throws Error for logits that are not
// finite.
TextScores score_text(std::span<const EvalWindow> windows, const LogitPass& model, const LogitPass& reference,
                      const ScoreSettings& settings, CpuTeam& team);

}  // namespace voltpile::llm
