// Requests as many users would send them: how many, how long, when. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "llm/engine/request.h"

namespace voltpile::llm {

struct Lengths {
    int least = 0;
    int most = 0;
};

struct LoadSettings {
    int requests = 0;
    double rate = 0;  // that arrive in a second, a Poisson process; 0: all at once
    Lengths prompt{128, 128};
    Lengths generate{128, 128};
    int interrupt_prompt = 0;  // tokens of a prompt that comes when all others generate; 0: none
    std::uint64_t seed = 1;

    // Tokens of the longest text.
    int context() const;
};

struct Arrival {
    double seconds = 0;
    Request request;
};

// In the order of arrival; ids 0, 1, ... Lengths are drawn uniformly, tokens from the vocabulary too, so that
// hardly any two prompts begin alike. Texts are as long as asked for, whatever is drawn.
std::vector<Arrival> make_load(const LoadSettings& settings, int vocabulary);

// The prompt that comes in between, and one token: id -1.
Request make_interruption(const LoadSettings& settings, int vocabulary);

}  // namespace voltpile::llm
