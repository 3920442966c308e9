// `voltpile bench serve`: measures how a server answers many requests at once.
#pragma once

#include <string>

#include "llm/bench/load.h"

namespace voltpile::llm {

struct ServeBenchOptions {
    std::string url;           // "http://127.0.0.1:8000", with or without "/v1"
    std::string api_key_file;  // its first key is sent; empty: none
    std::string trusted;       // certificates, see http::TlsContext
    int silence_seconds = 600;
    int vocabulary = 0;  // tokens of the prompts; 0: what the server says
    bool check = false;  // compares each answer with the one that its prompt gets alone
    bool json = false;
    LoadSettings load;
};

// Runs the load and prints a table or JSON. Throws JobError for a wrong URL or lengths beyond the model's
// context, MachineError for an unknown host, and CommError that names the URL and the status: if the server
// does not say what it serves, or, after the report, if a request failed.
void run_serve_bench(const ServeBenchOptions& options);

}  // namespace voltpile::llm
