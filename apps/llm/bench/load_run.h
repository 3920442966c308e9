// Sends a load through an engine and measures it.
#pragma once

#include <functional>
#include <span>

#include "llm/bench/load.h"
#include "llm/engine/engine.h"

namespace voltpile::llm {

struct Quantiles {
    double median = 0;
    double p99 = 0;
};

// Returns median and 99th percentile as quantile() does, of values in any order; 0 if there are none.
Quantiles quantiles_of(std::vector<double> values);

// The times of one request, in seconds since the load began.
struct RequestTimes {
    std::int64_t id = 0;
    double arrival_s = 0;
    double queued_s = 0;  // from arrival to admission
    std::vector<double> tokens_s;
    std::int64_t tokens_in = 0;
};

struct LoadResult {
    std::vector<RequestTimes> requests;  // by id, without the interruption
    double seconds = 0;                  // from the first arrival to the last token
    std::int64_t tokens_in = 0;
    std::int64_t tokens_out = 0;
    Quantiles first_token_s;     // from arrival to the first token
    Quantiles between_tokens_s;  // of all sequences together
    Quantiles queue_s;           // from arrival to admission
    double mean_batch = 0;       // sequences in a pass
    int largest_batch = 0;
    double cache_share = 0;  // share of KV cache pages in use, mean over passes
    double busy_share = 0;   // share of the time, a lower bound: see Engine::step()
    std::int64_t passes = 0;
    std::int64_t preemptions = 0;
    // With an interruption: times between tokens of the other sequences, while all generated before it came,
    // and from then until its first token.
    Quantiles before_s, during_s;
    double interruption_s = 0;  // from its arrival to its first token
};

// Runs the load. engine: without requests so far. pages: of the engine's cache. progress: callback after each
// pass.
LoadResult run_load(Engine& engine, const LoadSettings& settings, int vocabulary, int pages,
                    const std::function<void(const EngineCounters&)>& progress);

}  // namespace voltpile::llm
