// Perturbed Mandelbrot sets on the CPU, one point after another.
#pragma once

#include "rootmap/perturbed_mandelbrot.h"
#include "rootmap/point.h"
#include "sweep/point_stream.h"

namespace voltpile::rootmap {
inline namespace VOLTPILE_TARGET {

// Follows one point to its end. report: called with the iterations since the last call; false ends the point.
template <class Report>
VOLTPILE_HD void follow_perturbed(const Problem& problem, Complex<double> offset, Outcome& outcome,
                                  Report report) {
    constexpr std::int32_t between_reports = 1 << 18;
    const double limit = problem.escape_radius * problem.escape_radius;
    PerturbedPoint point;
    std::int32_t n = 0;
    std::int32_t reported = 0;
    for (; n < problem.max_iterations && point.s.measure <= limit; ++n) {
        step_perturbed(problem, offset, point);
        if (n - reported >= between_reports) {
            if (!report(n - reported)) return;
            reported = n;
        }
    }
    report(n - reported);
    set_outcome(problem, point.s, n, point.s.measure <= limit, outcome);
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
