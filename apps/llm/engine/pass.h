// Passes of many sequences at once: what a scheduler asks for, and who runs it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "llm/decoder/pass_runner.h"
#include "llm/ops/batch.h"
#include "llm/ops/sampling.h"

namespace voltpile::llm {

// How one token is drawn. As SamplingRow, but what it points to lives as long as it does.
struct Draw {
    std::shared_ptr<const SamplingSettings> settings;
    std::int32_t step = 0;  // its number among the draws of its sequence
    // token -> how often it is in the text; nullptr where no penalty asks for it.
    std::shared_ptr<const std::map<std::int32_t, std::int32_t>> history;
    int top_n = 0;  // most probable tokens that are to be told beside it
};

// One pass, the same on all ranks of a replica.
struct PlannedPass {
    // Passes of one lane follow each other. Passes of two lanes under way at once may have pieces of one
    // prompt, in the order of the text; of those only the last draws.
    int lane = 0;
    // Its tokens may be -1 - k: the token that draw k of the pass enqueued just before draws. Only if
    // PassExecutor::feeds().
    Batch batch;
    std::vector<Draw> draws;  // one for each of batch.logit_row
};

// Runs passes in the order in which they are enqueued, on every stage of a pipeline. So a page of the cache
// that no sequence needs once a pass has been enqueued may be given to another sequence in the next.
class PassExecutor {
  public:
    virtual ~PassExecutor() = default;

    // Passes that should be under way at once, for as many pipeline stages to be busy: each of a lane of its
    // own.
    virtual int lanes() const = 0;

    // A pass may follow another of its lane before that has drawn; then two should be under way, so that the
    // processor never waits for the next one to be planned.
    virtual bool feeds() const = 0;

    // Returns at once, as far as the executor works on a processor of its own.
    virtual void enqueue(const PlannedPass& pass) = 0;

    // Waits for the oldest pass that has not been collected: its tokens, one for each draw. Throws Error if
    // it failed.
    virtual std::vector<DrawnToken> collect() = 0;

    // Of the pass collected last, for each draw as many as its top_n; empty if the pass had none to tell of.
    virtual std::vector<TopTokens> top() { return {}; }

    // What is to be said of a text for which a pass has drawn -1. Waits for the passes under way, of which
    // none is collected.
    virtual std::string why_no_numbers() { return "the logits of the model are not finite numbers"; }
};

}  // namespace voltpile::llm
