// Mandelbrot sets at depths where FP64 cannot tell the points apart: each point is followed as its difference
// from the orbit of the center, which FP64 holds with 53 bits however small it is.
#pragma once

#include "rootmap/escape_maps.h"
#include "rootmap/point.h"
#include "sweep/point_stream.h"

namespace voltpile::rootmap {
inline namespace VOLTPILE_TARGET {

// Follows one point at c = center + offset. report: called with the iterations since the last call; false
// ends the point.
//
// With z = Z + d, Z of the orbit: d -> (2 Z + d) d + offset. Where d would exceed z itself, or the orbit
// ends, z becomes the difference from the orbit's first point, 0 (rebasing, which avoids the glitches of a
// single reference).
template <class Report>
VOLTPILE_HD void follow_perturbed(const Problem& problem, Complex<double> offset, Outcome& outcome,
                                  Report report) {
    constexpr std::int32_t between_reports = 1 << 18;
    const double limit = problem.escape_radius * problem.escape_radius;
    const auto at = [&](std::int32_t i) {
        return Complex<double>{problem.orbit[2 * i], problem.orbit[2 * i + 1]};
    };
    State<double> s = {};
    Complex<double> d = {0, 0};
    Complex<double> reference = {0, 0};
    std::int32_t place = 0;  // in the orbit
    std::int32_t n = 0;
    std::int32_t reported = 0;
    for (; n < problem.max_iterations && s.measure <= limit; ++n) {
        if (problem.want_distance) {
            const Complex<double> product = s.z * s.other;
            s.other = {product.x + product.x + 1.0, product.y + product.y};
        }
        d = (reference + reference + d) * d + offset;
        ++place;
        reference = at(place);
        s.z = reference + d;
        s.measure = squared_length(s.z);
        if (s.measure < squared_length(d) || place == problem.orbit_steps) {
            d = s.z;
            reference = {0, 0};
            place = 0;
        }
        if (n - reported >= between_reports) {
            if (!report(n - reported)) return;
            reported = n;
        }
    }
    report(n - reported);
    set_outcome(problem, s, n, s.measure <= limit, outcome);
}

// Computes points until the stream has none left, or stops.
VOLTPILE_HD void sweep_perturbed(const Problem& problem, PointStream& stream) {
    Ticket ticket;
    double units = 0;
    bool goes_on = true;
    const auto report = [&](std::int32_t iterations) {
        units += iterations;
        if (units < 1 << 18) return true;
        goes_on = stream.report(units);
        units = 0;
        return goes_on;
    };
    Outcome outcome;
    while (stream.draw(ticket)) {
        const ParameterSet<double> p = parameters_in<double>(problem, ticket.point);
        follow_perturbed(problem, {p.constant[0], p.constant[1]}, outcome, report);
        if (!goes_on) return;
        stream.finish(ticket, &outcome);
    }
    stream.report(units);
}

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::rootmap
