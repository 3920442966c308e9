// Keeps the lanes of a CPU kernel busy: a lane takes a new point as soon as its last one is decided. Only for
// sources that voltpile_cpu_kernels compiles.
#pragma once

#include "sweep/point_stream.h"
#include "sweep/portable.h"

namespace voltpile {
inline namespace VOLTPILE_TARGET {

// Computes points until neither the lanes nor the stream have one left, or until the stream stops it.
//
// Lanes, the app's problem on SIMD registers, has at most 32 lanes and these members. `lanes`, `filled` and
// `active` are sets of lanes, one bit each.
//   static constexpr int count                  number of lanes
//   static constexpr double units_between_reports
//   void begin(int lane, std::int64_t point)    prepares a lane for a point
//   void start(unsigned filled)                 starts the lanes prepared since the last call
//   double advance(unsigned active)             advances all lanes together, until one is decided or for some
//                                               milliseconds; returns the units of work done
//   unsigned decided(unsigned active)           the lanes whose points need no more steps
//   const Outcome& outcome(int lane)            of a decided point; the app's struct
template <class Lanes>
VOLTPILE_HD void run_lanes(Lanes& lanes, PointStream& stream) {
    constexpr unsigned all_lanes = (1U << (Lanes::count - 1) << 1) - 1U;
    Ticket tickets[Lanes::count];
    unsigned active = 0;
    double units = 0;
    for (;;) {
        if (active != all_lanes) {
            unsigned filled = 0;
            for (int i = 0; i < Lanes::count; ++i) {
                if ((active >> i & 1U) != 0) continue;
                if (!stream.draw(tickets[i])) break;
                lanes.begin(i, tickets[i].point);
                filled |= 1U << i;
            }
            if (filled != 0) lanes.start(filled);
            active |= filled;
        }
        if (active == 0) break;
        units += lanes.advance(active);
        const unsigned decided = lanes.decided(active);
        for (int i = 0; i < Lanes::count; ++i) {
            if ((decided >> i & 1U) != 0) stream.finish(tickets[i], &lanes.outcome(i));
        }
        active &= ~decided;
        if (units >= Lanes::units_between_reports) {
            if (!stream.report(units)) return;
            units = 0;
        }
    }
    stream.report(units);
}

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile
