// Sends a load through an engine and measures it.
#pragma once

#include <functional>

#include "llm/bench/load.h"
#include "llm/bench/load_result.h"
#include "llm/engine/engine.h"

namespace voltpile::llm {

// Runs the load. engine: without requests so far, for at most `sequences` at once. pages: of the engine's
// cache. progress: callback after each pass.
LoadResult run_load(Engine& engine, const LoadSettings& settings, int vocabulary, int sequences, int pages,
                    const std::function<void(const EngineCounters&)>& progress);

}  // namespace voltpile::llm
