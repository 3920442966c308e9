// A load through an engine, on the clock.
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

// As quantile(), of values in any order; 0 of none.
Quantiles quantiles_of(std::vector<double> values);

// Seconds since the load began.
struct RequestTimes {
    std::int64_t id = 0;
    double arrival_s = 0;
    double queued_s = 0;  // until it was admitted
    std::vector<double> tokens_s;
    std::int64_t tokens_in = 0;
};

struct LoadResult {
    std::vector<RequestTimes> requests;  // by id, without the interruption
    double seconds = 0;                  // from the first arrival to the last token
    std::int64_t tokens_in = 0;
    std::int64_t tokens_out = 0;
    Quantiles first_token_s;     // from arrival
    Quantiles between_tokens_s;  // of all texts together
    Quantiles queue_s;
    double mean_batch = 0;  // sequences of a pass
    int largest_batch = 0;
    double cache_share = 0;  // of its pages in use, mean over passes
    double busy_share = 0;   // of the time, at least: see Engine::step
    std::int64_t passes = 0;
    std::int64_t preemptions = 0;
    // With an interruption: of the others, while all generated and until it came; from there until its first
    // token.
    Quantiles before_s, during_s;
    double interruption_s = 0;  // until its first token
};

// engine: a fresh one. said: what is done so far, now and then. pages: of the engine's cache.
LoadResult run_load(Engine& engine, const LoadSettings& settings, int vocabulary, int pages,
                    const std::function<void(const EngineCounters&)>& said);

}  // namespace voltpile::llm
