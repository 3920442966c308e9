// Sends a load to a server and measures it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "http/client.h"
#include "llm/bench/load.h"
#include "llm/bench/load_result.h"

namespace voltpile::llm {

struct ServeTarget {
    http::ClientSettings client;
    std::string path;   // of the API: "/v1"
    std::string key;    // empty: none
    std::string model;  // its name there
    int vocabulary = 0;

    // "http://127.0.0.1:8000/v1/completions"
    std::string url(const std::string& endpoint) const;
    std::vector<http::Header> headers() const;
};

struct ServeAnswers {
    LoadResult result;
    std::vector<std::string> texts;  // of each request; empty without an answer
};

// Sends each request of make_load() to /completions, greedy and streamed, from one thread. A request arrives
// when it is due, or when one of settings.clients is free. Requests that fail are in result.errors. expected:
// the text of each of settings.prompts prompts, which answers must equal; empty: anything will do. progress:
// callback after each request, with the number of those that have ended. Throws as http::Client does.
ServeAnswers run_serve_load(const ServeTarget& target, const LoadSettings& settings,
                            const std::vector<std::string>& expected,
                            const std::function<void(int)>& progress);

}  // namespace voltpile::llm
