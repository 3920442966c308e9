// A three-body job as plain data, the input of both the CPU and the GPU kernel. Its functions are in
// parameters.h.
#pragma once

#include <cstdint>

namespace voltpile::threebody {

enum class Method : int { Euler, Leapfrog, Yoshida4, RungeKutta4 };

// One scalar of the job: fixed, or an axis of the sweep. Axis index of a point: (point / stride) % count.
struct ParameterSource {
    double base = 0;  // the value if it is not swept
    double from = 0;
    double to = 0;
    std::int64_t intervals = 1;  // value = from + (to - from) * index / intervals
    std::int64_t count = 0;      // 0: not swept
    std::int64_t stride = 1;
};

// Holds one T for each scalar that can be swept and nothing else, so that code can index them as an array.
template <class T>
struct ParameterSet {
    T G;
    T mass[3];
    T position[3][3];
    T velocity[3][3];
    T twin_shift[3];  // added to body 1 of the twin
    T dt;
    T steps;  // rounded to an integer
};

using Parameters = ParameterSet<double>;  // of one point
inline constexpr int parameter_count = sizeof(Parameters) / sizeof(double);

struct Problem {
    ParameterSet<ParameterSource> sources;
    double separation = 0;  // the pair is together while |x1 - x1'| <= separation
    Method method = Method::Euler;
    bool single_precision = false;
    bool same_forces = false;  // G, the masses and dt are not swept
    bool want_energy_error = false;
    bool want_closest_approach = false;
    bool want_final_state = false;
    std::int32_t largest_steps = 0;  // over the sweep
};

// The outcome of one pair. State s is the state after s steps.
struct Outcome {
    // The first state whose separation exceeds the limit (or is not a number), in 0 .. steps - 1; else
    // `steps`.
    std::int32_t steps_together = 0;
    // Of the first system, at the state steps_together: |E - E0| / |E0|.
    double energy_error = 0;
    // Smallest distance of any two bodies of the first system over the states 0 .. steps_together.
    double closest_approach = 0;
    // [body][x y z vx vy vz] of the first system at the state steps_together.
    double final_state[18] = {};
};

}  // namespace voltpile::threebody
