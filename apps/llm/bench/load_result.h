// What a load measures, in an engine or over HTTP.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

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
    double queued_s = 0;           // from arrival to admission, as far as it is known
    std::vector<double> tokens_s;  // over HTTP: of events with text, which may have several tokens
    std::int64_t tokens_in = 0;
    std::int64_t tokens_out = 0;
};

// What only the engine knows.
struct EngineLoad {
    Quantiles queue_s;      // from arrival to admission
    double mean_batch = 0;  // sequences in a pass
    int largest_batch = 0;
    double cache_share = 0;  // share of KV cache pages in use, mean over passes
    double busy_share = 0;   // share of the time, a lower bound: see Engine::step()
    std::int64_t passes = 0;
    std::int64_t preemptions = 0;
    std::int64_t drafted_tokens = 0;  // guessed ahead
    std::int64_t right_tokens = 0;    // of these, right
    int sequences = 0;                // the most at once
    int cache_tokens = 0;
};

struct LoadResult {
    std::vector<RequestTimes> requests;  // answered, without the interruption
    double seconds = 0;                  // from the first arrival to the last token
    std::int64_t tokens_in = 0;
    std::int64_t tokens_out = 0;
    Quantiles first_token_s;     // from arrival to the first token
    Quantiles between_tokens_s;  // of all sequences together
    std::optional<EngineLoad> engine;
    std::vector<std::string> errors;  // one for each request without an answer
    // With an interruption, which comes while all other sequences generate. Times are since the load began.
    double all_generate_at_s = 0;  // all others generate from then on
    double interrupted_at_s = 0;   // it arrives
    double interruption_s = 0;     // from its arrival to its first token
    Quantiles before_s;            // between tokens of the others, until it arrives
    Quantiles during_s;            // and from then until its first token
};

// Computes the totals and times of all requests from `requests`, and sorts these by id.
void summarize(LoadResult& result);

// Returns the mean time between tokens of all sequences together; 0 without two tokens of one.
double mean_between_tokens(const LoadResult& result);

// Returns the times between tokens whose middles are in a period, which may begin or end with a token.
Quantiles between_tokens(const std::vector<RequestTimes>& requests, double begin = 0,
                         double end = std::numeric_limits<double>::infinity());

}  // namespace voltpile::llm
