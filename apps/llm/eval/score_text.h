// The scores of every token of a text's windows, by passes of one model or of two.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "llm/eval/eval_windows.h"
#include "llm/ops/batch.h"
#include "llm/ops/cpu/team.h"

namespace voltpile::llm {

// A pass of a batch. Returns its logits on the host, (batch.logit_row.size(), vocabulary), valid until the
// next call, or nothing on ranks that do not have them.
using LogitPass = std::function<std::span<const float>(const Batch&)>;

struct TextScores {
    std::vector<double> losses;       // of each scored token, in nats, in the order of the windows
    std::vector<double> divergences;  // of the model from the reference, at the same places, if there is one
    std::int64_t same_top = 0;        // places where both have the same most probable token
};

struct ScoreSettings {
    int pass_rows = 0;  // the most tokens of a pass; as many rows of logits
    int pages = 0;      // for the longest window
    std::function<void(std::int64_t tokens)> done = [](std::int64_t) {};  // told the size of each pass
};

// reference: empty for none. Collective over the ranks of the passes; the scores are where the logits are.
// team: for the sums. Throws Error for logits that are not finite numbers.
TextScores score_text(std::span<const EvalWindow> windows, const LogitPass& model, const LogitPass& reference,
                      const ScoreSettings& settings, CpuTeam& team);

}  // namespace voltpile::llm
