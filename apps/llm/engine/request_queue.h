// Where requests go and how their answers come back: the interface of an engine for all other threads.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "llm/engine/counters.h"
#include "llm/engine/request.h"

namespace voltpile::llm {

// What has become certain of an answer since the last delta; the views are valid during the callback. All
// deltas of a request together are the text and the tokens of its outcome.
struct Delta {
    // Whole characters of UTF-8. Text that may be the beginning of a stop string is held back until that is
    // decided.
    std::string_view text;
    // The tokens whose text ends in this delta or has come before, with their log-probabilities and most
    // probable tokens as in Outcome.
    std::span<const std::int32_t> tokens;
    std::span<const float> log_probability;
    std::span<const TopTokens> top;
};

// Called after each token that is drawn and kept, even if the delta is empty, and once more at the end if
// something was held back. Returning false ends the sequence after this token with Finish::Stopped. If it
// throws, the request ends with Finish::Failed and is not called again; other requests go on.
using OnDelta = std::function<bool(const Delta&)>;

// Called once, after the last delta. What it throws is dropped: the request has ended anyway.
using OnEnd = std::function<void(Outcome)>;

// A request that comes after close(), or after the engine has failed.
class QueueClosed : public Error {
  public:
    QueueClosed() : Error(ExitCode::Stopped, "no more requests are accepted") {}
};

// Any thread may call the methods. Callbacks run on the thread of the engine, between two passes, and each of
// them delays every sequence. So they must not block: they hand what they get to a queue of their own. They
// may call the methods of this class.
class RequestQueue {
  public:
    virtual ~RequestQueue() = default;

    // Adds a request, which on_end then ends. Without on_end, Engine::step() returns the outcome instead.
    // Compiles the request's grammar on this thread. Throws JobError if the request can never be answered,
    // std::invalid_argument if its id is in use, and QueueClosed.
    void submit(Request request, OnDelta on_delta = {}, OnEnd on_end = {}) {
        add(std::move(request), std::move(on_delta), std::move(on_end));
    }

    // Ends a request with Finish::Cancelled before the next pass is planned, so that its pages of the KV
    // cache are free after at most one decode step. It gets no more deltas. Does nothing if the request has
    // ended.
    virtual void cancel(std::int64_t id) = 0;

    // Accepts no more requests; those accepted go on.
    virtual void close() = 0;

    virtual EngineCounters counters() const = 0;

  private:
    virtual void add(Request request, OnDelta on_delta, OnEnd on_end) = 0;
};

}  // namespace voltpile::llm
