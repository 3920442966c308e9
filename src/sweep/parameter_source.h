// One number of a job: fixed, or an axis of the sweep; the same in all frames of a movie, or not. Plain data
// that kernels take.
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
    // From and to of each frame, 2 numbers a frame; of a number that is not swept, twice its value. Null: all
    // frames have the same. In the memory of the processor that reads it.
    const double* frames = nullptr;
    std::int64_t frame_points = 1;  // points of a frame
};

inline namespace VOLTPILE_TARGET {

// Returns whether points have different values.
VOLTPILE_HD bool varies(const ParameterSource& source) {
    return source.count > 0 || source.frames != nullptr;
}

// Returns the value at a point of the sweep, computed in a type that double converts to. The operations have
// the same order as in SweepAxis::value, so in double the result's coordinates are exactly these numbers.
template <class Number>
VOLTPILE_HD Number value_in(const ParameterSource& source, std::int64_t point) {
    double base = source.base, first = source.from, last = source.to;
    if (source.frames != nullptr) {
        const double* const range = source.frames + 2 * (point / source.frame_points);
        base = first = range[0];
        last = range[1];
    }
    if (source.count == 0) return Number(base);
    const std::int64_t index = (point / source.stride) % source.count;
    const Number from(first);
    return from + ((Number(last) - from) * Number(static_cast<double>(index))) /
                      Number(static_cast<double>(source.intervals));
}

VOLTPILE_HD double value_at(const ParameterSource& source, std::int64_t point) {
    return value_in<double>(source, point);
}

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile
