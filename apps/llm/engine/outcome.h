// What has become of a request.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "llm/engine/pass.h"

namespace voltpile::llm {

enum class Finish {
    End,      // a token that ends a text, which is not among `tokens`
    Length,   // as many as were asked for
    Context,  // no room for more
    Stopped,  // by who was told the tokens; by a stop string or stop token
    Failed,   // the model gave no numbers to draw from
};

struct Outcome {
    std::int64_t id = 0;
    Finish finish = Finish::Length;
    std::string error;  // of Finish::Failed
    std::string text;   // before the stop string
    // All drawn, but for the one that ended the text by itself: an end token, a stop token.
    std::vector<std::int32_t> tokens;
    std::vector<float> log_probability;
    // The most probable ones with each of `tokens`, best first; empty if none were asked for.
    std::vector<TopTokens> top;
    int prompt_tokens = 0;
    double queue_seconds = 0;           // until it was admitted
    double prompt_seconds = 0;          // from there until the first token was known
    double generation_seconds = 0;      // from there until the last
    std::vector<double> token_seconds;  // of each drawn token, since the request was submitted
};

}  // namespace voltpile::llm
