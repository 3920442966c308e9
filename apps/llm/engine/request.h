// A request to an engine, and its outcome.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "llm/engine/pass.h"
#include "llm/grammar/grammar.h"
#include "llm/ops/sampling.h"

namespace voltpile::llm {

// What users can set (request_fields.h).
struct RequestSettings {
    int max_tokens = 0;       // 0: as many as the context has room for
    bool ignore_end = false;  // go on after a token of EngineSettings::end_ids
    SamplingSettings sampling;
    std::vector<std::string> stop;         // the text ends before the first of these strings
    int top_n = 0;                         // report this many of the most probable tokens with each draw
    std::string lora;                      // the name of the adapter to use; empty: none
    std::optional<GrammarSource> grammar;  // what the text must satisfy
    bool channels = false;                 // the text has the markers of the harmony format (harmony.h)
};

struct Request : RequestSettings {
    Request() = default;
    explicit Request(const RequestSettings& settings) : RequestSettings(settings) {}

    std::int64_t id = 0;               // chosen by the caller, unique among unfinished requests
    std::vector<std::int32_t> prompt;  // tokens
    int owner = 0;                     // whose request it is: owners share the engine fairly (waiting_line.h)
    double weight = 1;                 // an owner with weight 2 gets twice the tokens of one with weight 1
    bool continues = false;            // the answer continues the prompt's text: keep a leading space
    // The number of the first draw. Requests with the same seed draw differently if this differs.
    std::int32_t first_draw = 0;
    std::vector<std::int32_t> stop_tokens;  // tokens that end the sequence, whatever ignore_end says
    // Also report the log-probabilities of the prompt's tokens, which computes all of the prompt.
    bool score_prompt = false;
    std::shared_ptr<const Grammar> compiled_grammar;  // of `grammar`, set by the engine
    int adapter = -1;                                 // the index of `lora`, set by the engine; -1: none
};

enum class Finish {
    End,      // the model drew an end token, which is not in `tokens`, or the grammar allows no more
    Length,   // max_tokens are drawn
    Context,  // the context is full
    Stopped,  // by the token callback, a stop string or a stop token
    Failed,   // the logits were not finite, a callback threw, or the engine failed
    Cancelled,
};

struct Outcome {
    std::int64_t id = 0;
    Finish finish = Finish::Length;
    std::string error;           // if finish is Failed
    std::exception_ptr thrown;   // what a callback threw, if that is why
    bool engine_failed = false;  // so do all requests of this engine
    std::string text;            // up to the stop string
    // All tokens drawn, except an end token or stop token that ended the sequence.
    std::vector<std::int32_t> tokens;
    std::vector<float> log_probability;  // of each of `tokens`
    // The most probable tokens at the place of each of `tokens`, best first; empty if top_n is 0.
    std::vector<TopTokens> top;
    // Of the prompt's tokens after the first, if Request::score_prompt; as for `tokens`.
    std::vector<float> prompt_log_probability;
    std::vector<TopTokens> prompt_top;
    int prompt_tokens = 0;
    int cached_tokens = 0;              // of these, found in the KV cache
    int steps = 0;                      // passes that drew tokens for it
    int drafted_tokens = 0;             // guessed ahead in these passes (SchedulerSettings::draft_tokens)
    int right_tokens = 0;               // of these, right: each saved a pass
    double queue_seconds = 0;           // from submission to admission
    double prompt_seconds = 0;          // from admission to the first token
    double generation_seconds = 0;      // from the first token to the last
    std::vector<double> token_seconds;  // when each token was drawn, since submission
};

}  // namespace voltpile::llm
