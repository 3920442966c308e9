// Where a CPU kernel gets its starting points and leaves what became of them.
#pragma once

#include <cstdint>

#include "threebody/problem.h"

namespace voltpile::threebody {

// A point handed out; `owner` is the stream's own business.
struct Ticket {
    std::int64_t point = 0;
    void* owner = nullptr;
};

class PointStream {
  public:
    virtual ~PointStream();

    // False if there is none now. Never waits.
    virtual bool draw(Ticket& ticket) = 0;

    virtual void finish(const Ticket& ticket, const Outcome& outcome) = 0;

    // Called every few milliseconds with the pair-steps done since. False: stop, whatever is in flight is not
    // wanted.
    virtual bool report(double pair_steps) = 0;
};

}  // namespace voltpile::threebody
