// Measures the network between the ranks: a token around a ring, then latency and bandwidth of every pair,
// one pair at a time so that they do not share a link.
#pragma once

#include <functional>
#include <limits>

#include "comm/mpi/session.h"

namespace voltpile {

// Callbacks on rank 0 while it measures: if a link swallows messages, the last call tells which. A pair that
// looks bad is measured up to six times, and its best figures count.
struct LinkListener {
    std::function<void(double hop_us)> ring;                                 // mean time from rank to rank
    std::function<void(int a, int b)> begin;                                 // a < b
    std::function<void(int a, int b, double latency_us)> latency;            // half a round trip of one byte
    std::function<void(int a, int b, double forth, double back)> bandwidth;  // bytes/s from a to b, b to a
};

struct LinkSeconds {
    double each_pair = 0;                                        // approximate; a slow link may take longer
    double all_pairs = std::numeric_limits<double>::infinity();  // no pair is begun later than this
};

// Collective: every rank calls. listener: called on rank 0 only. Waits forever for a rank that does not
// answer, so whoever started the ranks must limit the time. Throws CommError.
void probe_links(const MpiSession& mpi, const LinkSeconds& seconds, const LinkListener& listener);

}  // namespace voltpile
