// Passes over many sequences at once: what a scheduler plans, and the interface of what runs it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "llm/decoder/kv_pages.h"
#include "llm/decoder/pass_runner.h"
#include "llm/ops/batch.h"
#include "llm/ops/sampling.h"

namespace voltpile::llm {

// How one token is drawn: a SamplingRow that owns what it points to.
struct Draw {
    std::shared_ptr<const SamplingSettings> settings;
    std::int32_t step = 0;  // the number of this draw within its sequence
    // Counts of the tokens in the sequence so far; nullptr if no penalty needs them.
    std::shared_ptr<const std::map<std::int32_t, std::int32_t>> history;
    int top_n = 0;  // how many of the most probable tokens to report with it
    // Tokens that may be drawn, see SamplingView; nullptr: all.
    std::shared_ptr<const std::vector<std::uint32_t>> mask = nullptr;
};

// One pass, the same on all ranks of a replica.
struct PlannedPass {
    // Passes of one lane run one after the other. Passes of different lanes may be in flight at the same
    // time, and may have pieces of one prompt, in the prompt's order; only the last piece draws.
    int lane = 0;
    // A token -1 - k stands for the token of draw k in the pass enqueued just before. Only if
    // PassExecutor::feeds().
    Batch batch;
    std::vector<Draw> draws;  // one for each entry of batch.logit_row
    // The draws depend on tokens that the pass enqueued just before draws, so `draws` is empty, and
    // PassExecutor::draw() brings them. Only if PassExecutor::feeds().
    bool draws_later = false;
    // Copies between the KV cache and host memory, to make in this order before anything else.
    std::vector<PageMove> moves = {};
};

// Runs passes in the order in which they are enqueued, on every pipeline stage. A page of the KV cache that
// no sequence needs after a pass may therefore be given to another sequence in the next pass.
class PassExecutor {
  public:
    virtual ~PassExecutor() = default;

    // The number of lanes: passes that should be in flight to keep all pipeline stages busy.
    virtual int lanes() const = 0;

    // Whether a pass may be enqueued before the previous pass of its lane has drawn. If so, two should be in
    // flight, so that the processor never waits for the next pass to be planned.
    virtual bool feeds() const = 0;

    // Starts a pass. Returns at once if the executor works on a GPU; an executor on cores computes here.
    virtual void enqueue(const PlannedPass& pass) = 0;

    // Starts the draws of the last pass, which has draws_later, one for each entry of its batch.logit_row.
    // Must be called once the pass before it has been collected, and before the next one is enqueued.
    virtual void draw(const std::vector<Draw>& /*draws*/) {
        throw std::logic_error("draws come with their pass where passes do not feed");
    }

    // Waits for the oldest pass not yet collected and returns its tokens, one for each draw. Throws Error if
    // the pass failed.
    virtual std::vector<DrawnToken> collect() = 0;

    // Returns the most probable tokens of the pass collected last: top_n for each draw, or nothing at all if
    // no draw asked for any.
    virtual std::vector<TopTokens> top() { return {}; }

    // Explains a draw of -1, for the sequence's error. Waits for the passes in flight without collecting
    // them.
    virtual std::string why_no_numbers() { return "the logits of the model are not finite numbers"; }
};

}  // namespace voltpile::llm
