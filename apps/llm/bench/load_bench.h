// `voltpile bench llm --requests`: measures how the ranks of this run answer many requests at once.
#pragma once

#include "llm/bench/llm_bench.h"

namespace voltpile::llm {

// Runs the load. Collective. The leader prints a table or JSON. Throws AgreedError; for lengths beyond the
// model's context or the cache, before anything is loaded.
void run_load_bench(const MpiSession& mpi, LlmBenchOptions options);

}  // namespace voltpile::llm
