// The source of a CPU kernel's points and the sink of their outcomes.
#pragma once

#include <cstdint>

namespace voltpile {

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

    // outcome: the app's struct, as OutcomeField describes it; copied before the call returns.
    virtual void finish(const Ticket& ticket, const void* outcome) = 0;

    // The kernel calls it every few milliseconds with the units of work done since. False tells the kernel to
    // stop and drop all points in flight.
    virtual bool report(double units) = 0;
};

}  // namespace voltpile
