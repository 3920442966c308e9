// The source of a CPU kernel's starting points and the sink of their outcomes.
#pragma once

#include <cstdint>

#include "threebody/problem.h"

namespace voltpile::threebody {

// A point handed out; only the stream uses `owner`.
struct Ticket {
    std::int64_t point = 0;
    void* owner = nullptr;
};

class PointStream {
  public:
    virtual ~PointStream();

    // Returns false if there is no point now. Never waits.
    virtual bool draw(Ticket& ticket) = 0;

    virtual void finish(const Ticket& ticket, const Outcome& outcome) = 0;

    // The kernel calls it every few milliseconds with the pair-steps done since. False tells the kernel to
    // stop and drop all pairs in flight.
    virtual bool report(double pair_steps) = 0;
};

}  // namespace voltpile::threebody
