// A three-body job as plain data, the input of both the CPU and the GPU kernel. Its functions are in
// parameters.h.
#pragma once

#include <cstdint>

#include "sweep/parameter_source.h"
#include "threebody/method_table.h"

namespace voltpile::threebody {

// Holds one T for each scalar that can be swept and nothing else, so that code can index them as an array.
// parameter_table.cpp connects them with the job file.
template <class T>
struct ParameterSet {
    T G;
    T mass[3];
    T position[3][3];
    T velocity[3][3];
    T displacement[3];  // added to body 1 of both systems
    T twin_shift[3];    // added to body 1 of the twin
    T dt;
    T steps;  // rounded to an integer
};

using Parameters = ParameterSet<double>;  // of one point
inline constexpr int parameter_count = sizeof(Parameters) / sizeof(double);

struct Problem {
    ParameterSet<ParameterSource> sources;
    double separation = 0;  // the pair is together while |x1 - x1'| <= separation
    Method method = {};
    double tolerance = 0;         // of adaptive methods: relative error of the velocities in a step
    std::int32_t most_steps = 0;  // of adaptive methods: attempted for a pair
    bool single_precision = false;
    bool double_double = false;
    bool same_forces = false;  // G, the masses and dt are the same for all points
    bool want_state = false;   // fields that are computed from the final state
    bool want_closest_approach = false;
    bool want_escape = false;        // of adaptive methods
    bool stop_at_escape = false;     // the integration then ends
    bool want_deviation = false;     // of adaptive methods, if no separation is a limit
    std::int32_t largest_steps = 0;  // over the sweep
    // All numbers that sources point to (ParameterSource::frames), owned by the app.
    const double* frame_numbers = nullptr;
    std::int64_t frame_numbers_count = 0;
};

}  // namespace voltpile::threebody
