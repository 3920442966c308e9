// What an engine counts, for progress lines, benchmarks and a server's metrics.
#pragma once

#include <cstdint>
#include <string>

namespace voltpile::llm {

struct SchedulerCounters {
    // Now:
    int running = 0;
    int generating = 0;
    int waiting = 0;
    int pages_in_use = 0;
    int pages = 0;  // of the KV cache, in use or not
    int host_pages_in_use = 0;
    int host_pages = 0;  // in host memory
    // Since the scheduler was created:
    std::int64_t prompt_rows = 0;    // prompt tokens computed, including those computed again
    std::int64_t shared_tokens = 0;  // prompt tokens found in the cache
    std::int64_t preemptions = 0;
    std::int64_t pages_brought_back = 0;  // from host memory

    bool operator==(const SchedulerCounters&) const = default;
};

// Counts since the engine was created.
struct EngineCounters {
    SchedulerCounters scheduler;
    std::int64_t requests = 0;        // ended, for whatever reason
    std::int64_t failed = 0;          // of these, with Finish::Failed
    std::int64_t cancelled = 0;       // of these, with Finish::Cancelled
    std::int64_t tokens_in = 0;       // prompt tokens of requests whose first token is known
    std::int64_t tokens_out = 0;      // drawn and kept
    std::int64_t steps = 0;           // summed over sequences: passes that drew tokens for it
    std::int64_t drafted_tokens = 0;  // guessed ahead
    std::int64_t right_tokens = 0;    // of these, right
    std::int64_t passes = 0;
    std::int64_t sequences = 0;  // summed over passes; divided by `passes`, the mean batch
    int largest_batch = 0;       // the most sequences in a pass
    double page_passes = 0;      // pages in use, summed over passes
    double waited_seconds = 0;   // spent waiting for passes
    double busy_seconds = 0;     // a lower bound, see Engine::step()

    bool operator==(const EngineCounters&) const = default;
};

// "2.31 tokens in a step; 410 of 620 guesses right": whether guesses ahead pay.
std::string guesses_text(const EngineCounters& counters);

}  // namespace voltpile::llm
