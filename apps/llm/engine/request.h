// What is asked of an engine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "llm/ops/sampling.h"

namespace voltpile::llm {

struct Request {
    std::int64_t id = 0;               // chosen by who asks; no two under way have the same
    std::vector<std::int32_t> prompt;  // tokens
    int max_tokens = 0;                // 0: as many as the context has room for
    bool ignore_end = false;           // goes on after a token that ends a text
    bool continues = false;            // the text follows the prompt's: a space at its beginning is meant
    SamplingSettings sampling;
    std::int32_t first_draw = 0;    // the number of its first draw: two with the same seed draw differently
    std::vector<std::string> stop;  // the text ends before the first place where one of these begins
    std::vector<std::int32_t> stop_tokens;  // end the text as the model's own do, whatever ignore_end says
    int top_n = 0;                          // most probable tokens to be told of with each one drawn
};

}  // namespace voltpile::llm
