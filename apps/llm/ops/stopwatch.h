// Measures the time of each operation in a pass.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "device/stream.h"

namespace voltpile::llm {

// The marks must be part of one recording (Ops::record) that is replayed once before each read().
class Stopwatch {
  public:
    virtual ~Stopwatch() = default;
    // Assigns the work enqueued since the previous mark to `name`. An empty name assigns it to nothing.
    virtual void mark(const std::string& name) = 0;
    // Waits for the replay and adds its seconds to the entries of `seconds`, by name.
    virtual void read(std::map<std::string, double>& seconds) = 0;
};

// Returns a stopwatch that records events on `stream` and subtracts the cost of a mark, measured between
// marks with no work. nullptr: one that reads the clock, for operations that complete before they return.
std::unique_ptr<Stopwatch> make_stopwatch(const Stream* stream);

}  // namespace voltpile::llm
