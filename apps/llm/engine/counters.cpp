#include "llm/engine/counters.h"

#include <fmt/format.h>

#include <algorithm>

namespace voltpile::llm {

std::string guesses_text(const EngineCounters& counters) {
    const auto steps = static_cast<double>(std::max<std::int64_t>(1, counters.steps));
    return fmt::format("{:.2f} tokens in a step; {} of {} guesses right",
                       static_cast<double>(counters.steps + counters.right_tokens) / steps,
                       counters.right_tokens, counters.drafted_tokens);
}

}  // namespace voltpile::llm
