#include "llm/session/replica_state.h"

#include <algorithm>

namespace voltpile::llm {

EngineCounters sum_of(std::span<const ReplicaState> replicas) {
    EngineCounters sum;
    for (const ReplicaState& replica : replicas) {
        const EngineCounters& one = replica.counters;
        sum.scheduler.running += one.scheduler.running;
        sum.scheduler.generating += one.scheduler.generating;
        sum.scheduler.waiting += one.scheduler.waiting;
        sum.scheduler.pages_in_use += one.scheduler.pages_in_use;
        sum.scheduler.pages += one.scheduler.pages;
        sum.scheduler.host_pages_in_use += one.scheduler.host_pages_in_use;
        sum.scheduler.host_pages += one.scheduler.host_pages;
        sum.scheduler.pages_brought_back += one.scheduler.pages_brought_back;
        sum.scheduler.prompt_rows += one.scheduler.prompt_rows;
        sum.scheduler.shared_tokens += one.scheduler.shared_tokens;
        sum.scheduler.preemptions += one.scheduler.preemptions;
        sum.requests += one.requests;
        sum.failed += one.failed;
        sum.cancelled += one.cancelled;
        sum.tokens_in += one.tokens_in;
        sum.tokens_out += one.tokens_out;
        sum.steps += one.steps;
        sum.drafted_tokens += one.drafted_tokens;
        sum.right_tokens += one.right_tokens;
        sum.passes += one.passes;
        sum.sequences += one.sequences;
        sum.largest_batch = std::max(sum.largest_batch, one.largest_batch);
        sum.page_passes += one.page_passes;
        sum.waited_seconds += one.waited_seconds;
        sum.busy_seconds += one.busy_seconds;
    }
    return sum;
}

}  // namespace voltpile::llm
