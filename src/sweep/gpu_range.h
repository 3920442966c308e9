// A range of points on a GPU.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sweep/portable.h"

namespace voltpile {

// All pointers point to GPU memory. Arrays are indexed by place in the range, from 0.
struct GpuRange {
    static constexpr int most_fields = 72;
    // Multiprocessors rest for a part of each such period, a power of 2: often enough that the power of any
    // tenth of a second is even.
    static constexpr std::uint32_t rest_period_ns = 1U << 26;

    std::int64_t begin = 0;  // the number of the first point in the flattened sweep
    // The numbers of all points; null: they follow the first.
    const std::int64_t* numbers = nullptr;
    std::uint32_t points = 0;  // at most 2^31

    struct Counters {
        unsigned long long units;  // of work, of decided points
        std::uint32_t next;        // number of points handed out to lanes; may exceed `points`
        // Steps of all lanes, also of those without a point, if the lanes count them (Lane::counts_steps).
        unsigned long long lane_steps;
        // Changes while any warp computes, also if a point takes hours: the steps of the warp that wrote it
        // last.
        std::uint32_t beat;
    };
    Counters* counters = nullptr;  // must be zero at the start

    // The values of the requested fields, by OutcomeField::number; null for the others.
    void* values[most_fields] = {};
    // How much of rest_period_ns each multiprocessor rests; it may change while the kernel runs. Null: none.
    const std::uint32_t* rest_ns = nullptr;
    // Space for the program's own use, GpuProgram::raw_bytes() for each point.
    std::byte* raw = nullptr;
};

inline namespace VOLTPILE_TARGET {

// Returns the number of a point in the flattened sweep.
VOLTPILE_HD std::int64_t number_of(const GpuRange& range, std::uint32_t place) {
    return range.numbers == nullptr ? range.begin + place : range.numbers[place];
}

}  // namespace VOLTPILE_TARGET

}  // namespace voltpile
