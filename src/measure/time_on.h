// Times work on a GPU by events of its stream.
#pragma once

#include <algorithm>

#include "device/stream.h"

namespace voltpile {

// Returns the seconds that the work takes which `enqueue` puts on the stream. Waits for it.
template <class Enqueue>
double time_on(const Stream& stream, const Enqueue& enqueue) {
    Event begin, end;
    begin.record(stream);
    enqueue();
    end.record(stream);
    end.synchronize();
    return end.seconds_since(begin);
}

// Returns the least of `rounds` such times, after one more that loads the kernel.
template <class Enqueue>
double least_time_on(const Stream& stream, int rounds, const Enqueue& enqueue) {
    time_on(stream, enqueue);
    double least = time_on(stream, enqueue);
    for (int round = 1; round < rounds; ++round) least = std::min(least, time_on(stream, enqueue));
    return least;
}

}  // namespace voltpile
