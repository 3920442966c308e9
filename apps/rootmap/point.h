// How a point of the sweep starts, and what its last state means.
#pragma once

#include "rootmap/outcome.h"
#include "rootmap/root_maps.h"
#include "rootmap/state.h"
#include "sweep/logarithm.h"
#include "sweep/square_root.h"

namespace voltpile::rootmap {
inline namespace VOLTPILE_TARGET {

// What the values of a point are computed in.
template <class Scalar>
struct PointNumber {
    using type = Scalar;
};
template <>
struct PointNumber<float> {
    using type = double;  // they are then rounded
};

// The values of one point, computed in Number.
template <class Number>
VOLTPILE_HD ParameterSet<Number> parameters_in(const Problem& problem, std::int64_t point) {
    ParameterSet<Number> p;
    const auto* sources = reinterpret_cast<const ParameterSource*>(&problem.sources);
    VOLTPILE_UNROLL
    for (int i = 0; i < parameter_count; ++i)
        reinterpret_cast<Number*>(&p)[i] = value_in<Number>(sources[i], point);
    return p;
}

// Sets state 0, without what Map::start computes from it, and the constants.
template <class Number>
VOLTPILE_HD void begin_point(const Problem& problem, const ParameterSet<Number>& p, State<Number>& s,
                             MapConstants<Number>& constants) {
    const Number zero(0.0);
    s = {{p.start[0], p.start[1]}, {zero, zero}, {zero, zero}, zero};
    constants = {{p.a, p.b, p.c, p.d}};
    switch (problem.method) {
        case Method::Secant:
            s.other = s.z;
            s.z = {p.start[0] + p.secant_step[0], p.start[1] + p.secant_step[1]};
            [[fallthrough]];
        case Method::Newton:
        case Method::Halley:
        case Method::Schroeder:
            constants.value[0] = p.relaxation;
            break;
        case Method::Julia:
            s.other.x = Number(1.0);
            [[fallthrough]];
        case Method::Mandelbrot:
        case Method::BurningShip:
            constants.value[0] = p.constant[0];
            constants.value[1] = p.constant[1];
            break;
        case Method::Henon:
        case Method::Clifford:
        case Method::DeJong:
            break;
    }
}

VOLTPILE_HD bool seeks_roots(Method method) {
    return method <= Method::Secant;
}
VOLTPILE_HD bool seeks_cycles(Method method) {
    return method >= Method::Clifford;
}

// Returns 1, 2, ... for the root that z has reached, 0 for none.
VOLTPILE_HD std::int32_t nearest_root(const RootList& roots, Complex<double> z) {
    std::int32_t nearest = 0;
    double least = roots.radius * roots.radius;
    for (int i = 0; i < roots.count; ++i) {
        const double distance = squared_length(z - Complex<double>{roots.re[i], roots.im[i]});
        if (!(distance <= least)) continue;
        least = distance;
        nearest = i + 1;
    }
    return nearest;
}

// What became of a point whose next step is not finite. The state is the one before this step, except that
// the secant method has lost the point before it.
VOLTPILE_HD Quality quality_without_step(const Problem& problem, State<double> s) {
    if (!seeks_roots(problem.method)) return Quality::NotFinite;
    const Complex<double> p = value_of(problem.polynomial, s.z);
    if (p.x == 0 && p.y == 0) return Quality::Decided;  // a multiple root
    Quotient<double> q = {};
    switch (problem.method) {
        case Method::Newton:
            q = NewtonStep::of(problem, s);
            break;
        case Method::Halley:
            q = HalleyStep::of(problem, s);
            break;
        case Method::Schroeder:
            q = SchroederStep::of(problem, s);
            break;
        default:
            break;
    }
    return squared_length(q.below) == 0 && squared_length(p) <= problem.largest_measure
               ? Quality::ZeroDerivative
               : Quality::NotFinite;
}

// Returns the iterations as a real number: the measure passes its limit, on its course x -> x^order, at this
// time.
VOLTPILE_HD double smooth_count(const Problem& problem, const State<double>& s, std::int32_t iterations) {
    const auto n = static_cast<double>(iterations);
    const bool roots = seeks_roots(problem.method);
    if (roots && s.measure < 1e-300) return n - 1;
    const double limit = roots ? problem.tolerance : problem.escape_radius;
    const double late = logarithm(s.measure) / (2 * logarithm(limit));
    const double steps = logarithm(late) / logarithm(problem.order);
    return roots && steps > 1 ? n - 1 : n - steps;
}

// Returns the distance to the set whose points do not escape, estimated from the derivative in `other`.
VOLTPILE_HD double distance_estimate(const State<double>& s) {
    const double derivative = squared_length(s.other);
    if (!(derivative > 0 && derivative <= 1e300)) return 0;
    return logarithm(s.measure) * square_root(s.measure / derivative);
}

// undecided: after max_iterations.
VOLTPILE_HD void set_outcome(const Problem& problem, const State<double>& s, std::int32_t iterations,
                             bool undecided, Outcome& outcome) {
    outcome = Outcome();
    outcome.iterations = iterations;
    outcome.final_z[0] = s.z.x;
    outcome.final_z[1] = s.z.y;
    const bool finite = s.measure <= problem.largest_measure;
    const Quality quality = undecided ? Quality::Stopped
                            : finite  ? Quality::Decided
                                      : quality_without_step(problem, s);
    outcome.quality = static_cast<std::int32_t>(quality);
    outcome.smooth = static_cast<double>(iterations);
    if (quality != Quality::Decided) return;
    if (seeks_roots(problem.method)) outcome.root = nearest_root(problem.roots, {s.z.x, s.z.y});
    if (seeks_cycles(problem.method)) outcome.period = static_cast<std::int32_t>(s.aid.x);
    if (finite && problem.order > 0) outcome.smooth = smooth_count(problem, s, iterations);
    if (problem.want_distance) outcome.distance = distance_estimate(s);
}

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::rootmap
