// The pace of a processor, measured with passes of its own.
#pragma once

#include "llm/engine/pass.h"
#include "llm/engine/pass_pace.h"

namespace voltpile::llm {

// With some hundred passes over pages 0 .. pages - 1 of the cache, in which nothing may be kept yet. Passes
// of one row for each text are measured at the beginning of texts, in all shapes of step_shape() for which
// the cache has a page for each text; then pieces of prompts, until a pass takes mixed_slowdown times as long
// as the largest of those. Longer contexts come next, the shortest first, until 2 s have passed: an executor
// that records passes has then recorded these shapes. Throws as the executor.
PassPace measure_pace(PassExecutor& executor, const BatchLimits& limits, int pages);

}  // namespace voltpile::llm
