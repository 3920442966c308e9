// Times of single operations within a pass.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "device/stream.h"

namespace voltpile::llm {

// Marks lie within one recording (Ops::record), which is replayed once before each read().
class Stopwatch {
  public:
    virtual ~Stopwatch() = default;
    // What was enqueued since the mark before is `name`'s; what came before a mark without a name is
    // nobody's.
    virtual void mark(const std::string& name) = 0;
    // Waits for the replay and adds its times, by name.
    virtual void read(std::map<std::string, double>& seconds) = 0;
};

// By events on the stream (what a mark costs by itself, by pieces without anything, is taken off), or
// nullptr: by the clock, for operations that are done when they return.
std::unique_ptr<Stopwatch> make_stopwatch(const Stream* stream);

}  // namespace voltpile::llm
