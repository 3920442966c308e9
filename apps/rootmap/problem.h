// A root map's job as plain data, the input of the kernels.
#pragma once

#include <cstdint>

#include "sweep/parameter_source.h"

namespace voltpile::rootmap {

// Indexes the table of methods.cpp.
enum class Method : int {
    Newton,
    Halley,
    Schroeder,
    Secant,
    Mandelbrot,
    Julia,
    BurningShip,
    Henon,
    Clifford,
    DeJong,
};

enum class Precision : int { Fp64, Fp32, DoubleDouble, Perturbation };

// Holds one T for each scalar that can be swept and nothing else, so that code can index them as an array.
// parameter_table.cpp connects them with the job file.
template <class T>
struct ParameterSet {
    T start[2];     // x and y, or real and imaginary part
    T constant[2];  // the c of z^2 + c
    T a, b, c, d;   // of maps of the plane
    T relaxation;   // of methods for roots: factor of each step
    T secant_step[2];
};

inline constexpr int parameter_count = sizeof(ParameterSet<double>) / sizeof(double);

inline constexpr int most_degree = 64;

// Of a polynomial: re[k] and im[k] belong to z^k.
template <class Number>
struct PolynomialIn {
    int degree = 0;
    Number re[most_degree + 1] = {};
    Number im[most_degree + 1] = {};
};
using Polynomial = PolynomialIn<double>;

struct RootList {
    int count = 0;
    double re[most_degree] = {};
    double im[most_degree] = {};
    double radius = 0;  // a point this close to a root has reached it
};

struct Problem {
    ParameterSet<ParameterSource> sources;
    Method method = {};
    Precision precision = {};
    std::int32_t max_iterations = 0;
    double tolerance = 0;
    double escape_radius = 0;
    double order = 2;            // of convergence, or of growth: for the smooth count
    bool want_distance = false;  // the derivative has to be followed
    double largest_measure = 0;  // a squared length above this is not finite
    Polynomial polynomial;
    RootList roots;
    // With Precision::Perturbation: x and y of the center's orbit, orbit_steps + 1 points
    // (reference_orbit.h), owned by the app.
    const double* orbit = nullptr;
    std::int32_t orbit_steps = 0;
};

}  // namespace voltpile::rootmap
