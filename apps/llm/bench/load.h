// Generates a load of requests as many users would send them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "llm/engine/request.h"

namespace voltpile::llm {

struct Lengths {
    int least = 0;
    int most = 0;
};

struct LoadSettings {
    int requests = 0;
    double rate = 0;  // arrivals a second, as a Poisson process; 0: all at once
    Lengths prompt{128, 128};
    Lengths generate{128, 128};
    int clients = 0;  // each sends its next request when the last one is answered; 0: see rate. Over HTTP
    int prompts = 0;  // distinct prompts, used in turn; 0: each request has its own. Over HTTP
    int interrupt_prompt = 0;  // tokens of a prompt that arrives while all others generate; 0: none
    // What the texts must satisfy; they may end before their length. In an engine only.
    std::optional<GrammarSource> grammar;
    std::vector<std::string> adapters;  // which the requests take in turn. In an engine only
    std::uint64_t seed = 1;

    // Returns the tokens of the longest sequence.
    int context() const;
};

struct Arrival {
    double seconds = 0;
    Request request;
};

// Returns the requests in the order of arrival, with ids 0, 1, ... Draws lengths uniformly, and tokens
// uniformly from the vocabulary, so that prompts hardly ever share a prefix. Without a grammar, sequences
// have exactly the drawn length.
std::vector<Arrival> make_load(const LoadSettings& settings, int vocabulary);

// Returns the interrupting request, with id -1 and one token to generate.
Request make_interruption(const LoadSettings& settings, int vocabulary);

}  // namespace voltpile::llm
