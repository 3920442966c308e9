// The body of peak.h's loops, compiled for each CPU target.
#pragma once

#include "threebody/pack.h"

namespace voltpile::threebody {
inline namespace VOLTPILE_TARGET {

VOLTPILE_HD double fma_loop(long rounds) {
    constexpr int chains =
        12;  // more than latency times operations per cycle, and few enough for 16 registers
    DoublePack value[chains];
    _Pragma("GCC unroll 12") for (int i = 0; i < chains; ++i) value[i] = DoublePack(1.0 + i);
    DoublePack factor(0.999999);
    DoublePack term(1e-6);
    for (long round = 0; round < rounds; ++round) {
        _Pragma("GCC unroll 12") for (int i = 0; i < chains; ++i) value[i] = fma(value[i], factor, term);
    }
    double sum = 0;
    for (int i = 0; i < chains; ++i) sum += value[i].lane(0);
    return sum;
}

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::threebody
