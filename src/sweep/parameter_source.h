// One number of a job: fixed, or an axis of the sweep. Plain data that kernels take.
#pragma once

#include <cstdint>

#include "sweep/portable.h"

namespace voltpile {

struct ParameterSource {
    double base = 0;  // the value if it is not swept
    double from = 0;
    double to = 0;
    std::int64_t intervals = 1;  // value = from + (to - from) * index / intervals
    std::int64_t count = 0;      // 0: not swept
    std::int64_t stride = 1;     // axis index of a point: (point / stride) % count
};

inline namespace VOLTPILE_TARGET {

// Returns the value at a point of the sweep, computed in a type that double converts to. The operations have
// the same order as in SweepAxis::value, so in double the result's coordinates are exactly these numbers.
template <class Number>
VOLTPILE_HD Number value_in(const ParameterSource& source, std::int64_t point) {
    if (source.count == 0) return Number(source.base);
    const std::int64_t index = (point / source.stride) % source.count;
    const Number from(source.from);
    return from + ((Number(source.to) - from) * Number(static_cast<double>(index))) /
                      Number(static_cast<double>(source.intervals));
}

VOLTPILE_HD double value_at(const ParameterSource& source, std::int64_t point) {
    return value_in<double>(source, point);
}

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile
