// What a load has measured, as text and as JSON.
#pragma once

#include <string>

#include "llm/bench/load_run.h"

namespace voltpile::llm {

struct LoadReport {
    std::string model;
    std::string processor;
    LoadSettings settings;
    int sequences = 0;  // at once, at most
    int cache_tokens = 0;
    LoadResult result;
};

std::string to_text(const LoadReport& report);
std::string to_json(const LoadReport& report);

}  // namespace voltpile::llm
