// Shows progress while a model is loaded: a live line on a terminal, a plain line now and then elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "run/progress.h"

namespace voltpile::llm {

// Formats the line: "loading 6.5 of 13.0 GB a rank  50 %  2.9 GB/s".
std::string loading_text(double bytes, double of_bytes, double seconds);

class LoadProgress {
  public:
    // of_bytes: how much this rank loads. shown: whether this rank prints.
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
