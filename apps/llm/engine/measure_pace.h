// Measures the pace of a processor with test passes.
#pragma once

#include "llm/engine/pass.h"
#include "llm/engine/pass_pace.h"

namespace voltpile::llm {

// Measures how long passes take by their number of rows. Runs some hundred passes, which overwrite pages 0 to
// pages - 1 of the KV cache, so nothing may be kept there yet. First come decode steps at the beginning of
// sequences, in all shapes of step_shape() for which the cache has a page for each sequence; then prefill,
// until a pass takes mixed_slowdown times as long as the largest decode step. Then come decode steps with
// longer contexts, the shortest first, so that an executor that records passes has recorded these shapes.
// contexts_until_s: no further context begins later than this after the start. Throws what the executor
// throws.
PassPace measure_pace(PassExecutor& executor, const BatchLimits& limits, int pages,
                      double contexts_until_s = 2);

// Measures passes of up to most_rows rows of one sequence, each with logits, as guesses have them. A few
// passes of each of a few numbers of rows, as long as more rows take less time each.
PassPace measure_draft_pace(PassExecutor& executor, const BatchLimits& limits, int pages, int most_rows);

}  // namespace voltpile::llm
