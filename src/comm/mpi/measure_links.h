// Measures the network between the ranks: a token round a ring, then latency and bandwidth of every pair, one
// pair at a time so that they do not share a link.
#pragma once

#include <functional>

#include "comm/mpi/session.h"

namespace voltpile {

// What rank 0 learns, as it happens: when a link swallows messages, the last thing heard tells which. A pair
// that looks bad comes up to six times: the best of its figures counts.
struct LinkListener {
    std::function<void(double hop_us)> ring;                                 // mean time from rank to rank
    std::function<void(int a, int b)> begin;                                 // a < b
    std::function<void(int a, int b, double latency_us)> latency;            // half a round trip of one byte
    std::function<void(int a, int b, double forth, double back)> bandwidth;  // bytes/s from a to b, b to a
};

// Collective: every rank calls. listener: called on rank 0 only. seconds_per_pair: about how long to measure
// each; a slow link may take longer. Waits for ever for a rank that does not answer: whoever started the
// ranks must watch the time. Throws CommError.
void probe_links(const MpiSession& mpi, double seconds_per_pair, const LinkListener& listener);

}  // namespace voltpile
