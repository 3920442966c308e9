// What a person sees while a model is loaded: one live line on a terminal, a plain line now and then
// elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "run/progress.h"

namespace voltpile::llm {

// "loading 6.5 of 13.0 GB a rank  50 %  2.9 GB/s". Pure.
std::string loading_text(double bytes, double of_bytes, double seconds);

class LoadProgress {
  public:
    // of_bytes: what this rank will load. shown: on the rank that prints.
    LoadProgress(std::uint64_t of_bytes, bool shown);

    void add(std::uint64_t bytes);

  private:
    double of_bytes_;
    double bytes_ = 0;
    bool shown_;
    LiveLine line_;
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace voltpile::llm
