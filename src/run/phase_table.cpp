#include "run/phase_table.h"

#include <fmt/format.h>

#include "base/text_table.h"

namespace voltpile {

std::string phase_table(const std::vector<PhaseTableRank>& ranks, double now_s) {
    std::vector<TextRow> rows{{"rank", "phase", "threads", "steps", "last step"}};
    for (const PhaseTableRank& rank : ranks) {
        const std::size_t before = rows.size();
        for (std::size_t i = 0; rank.phases && i < kPhases; ++i) {
            const auto phase = static_cast<Phase>(i);
            const PhaseState& state = rank.phases->at(phase);
            if (state.steps == 0) continue;
            rows.push_back({rows.size() == before ? rank.name : "", std::string(kPhaseNames[i]),
                            std::to_string(state.threads), std::to_string(state.steps),
                            state.threads > 0
                                ? fmt::format("{:.1f} s ago", now_s - rank.phases->moved_s(phase))
                                : "ended"});
        }
        if (rows.size() == before) rows.push_back({rank.name, rank.phases ? "none" : "unknown", "", "", ""});
    }
    return text_table(rows, {2, 3});
}

}  // namespace voltpile
