// An n-body job as plain data, the input of the kernels.
#pragma once

#include <cstdint>

#include "sweep/parameter_source.h"
#include "sweep/portable.h"

namespace voltpile::nbody {

inline constexpr int kFewestBodies = 2;
inline constexpr int kMostBodies = 8;

enum class Method : int {
    Euler,
    Leapfrog,
    Yoshida4,
    SymplecticNystrom6,
    RungeKutta4,
    RungeKuttaNystrom8,
    Extrapolation10,
};

// Of the center, the origin, at distance r: the energy of a body of mass 1.
enum class Potential : int {
    None,
    Point,        // -G M / r
    Plummer,      // -G M / sqrt(r^2 + b^2)
    Harmonic,     // w^2 r^2 / 2
    Logarithmic,  // v^2 / 2 log(r^2 + b^2)
};

// Numbers of a job that a sweep or a table can vary: these, and then those of the bodies.
enum Number : int {
    kG,
    kSoftening,
    kDt,
    kSteps,
    kPotentialMass,       // M
    kPotentialScale,      // b
    kPotentialFrequency,  // w
    kPotentialSpeed,      // v
    kFirstMass,
};
inline constexpr int kFirstPosition = kFirstMass + kMostBodies;  // x, y, z of each body
inline constexpr int kFirstVelocity = kFirstPosition + 3 * kMostBodies;
inline constexpr int kFirstDisplacement = kFirstVelocity + 3 * kMostBodies;
inline constexpr int kFirstTwinShift = kFirstDisplacement + 3 * kMostBodies;
inline constexpr int kNumbers = kFirstTwinShift + 3 * kMostBodies;

struct NumberSource {
    ParameterSource swept;  // or fixed
    int column = -1;        // of the table, which then has the value
};

struct Problem {
    NumberSource numbers[kNumbers];
    const double* table = nullptr;  // row by row; a row for each point
    std::int64_t table_columns = 0;

    bool double_double = false;  // computes in it, with displacements; else in FP64, without
    int bodies = 0;
    Method method = {};
    Potential potential = {};
    double tolerance = 0;                 // of adaptive methods: relative error of the velocities in a step
    std::int32_t most_steps = 0;          // attempted for a point
    double collision = 0;                 // bodies collide at this distance; 0: never
    double escape_distance = 0;           // a body that is unbound and this far out has escaped; 0: never
    double separation = __builtin_inf();  // twins part at this distance; infinite: there are no twins
    bool want_closest = false;
    bool want_deviation = false;  // follows a small deviation; then there are no twins
};

inline namespace VOLTPILE_TARGET {

VOLTPILE_HD double number_at(const Problem& problem, int number, std::int64_t point) {
    const NumberSource& source = problem.numbers[number];
    if (source.column >= 0) return problem.table[point * problem.table_columns + source.column];
    return value_at(source.swept, point);
}

VOLTPILE_HD bool has_twin(const Problem& problem) {
    return problem.separation < __builtin_inf();
}

VOLTPILE_HD std::int32_t step_count(const Problem& problem, std::int64_t point) {
    return static_cast<std::int32_t>(number_at(problem, kSteps, point) + 0.5);
}

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::nbody
