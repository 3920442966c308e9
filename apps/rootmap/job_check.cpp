#include "rootmap/job_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "job/job_spec.h"
#include "rootmap/methods.h"
#include "rootmap/outcome_fields.h"
#include "rootmap/parameter_table.h"
#include "rootmap/polynomial.h"
#include "rootmap/problem_from_job.h"
#include "rootmap/reference.h"
#include "rootmap/reference_orbit.h"

namespace voltpile::rootmap {

namespace {

void refuse_wrong_polynomial(const JobSpec& job, const MethodInfo& method, const ReportProblem& report) {
    const bool text = !job.text("map.polynomial").empty();
    const bool numbers = !job.reals("map.coefficients").empty() || !job.reals("map.coefficients_im").empty();
    const char* const key = text ? "map.polynomial" : numbers ? "map.coefficients" : "map.method";
    if (method.kind != Kind::Root) {
        if (text || numbers)
            report(key, fmt::format("method \"{}\" has no polynomial: leave out {}", method.name, key));
        return;
    }
    if (!text && !numbers)
        return report(key,
                      fmt::format("method \"{}\" needs map.polynomial or map.coefficients", method.name));
    if (text && numbers)
        return report(key, "map.polynomial and map.coefficients are two polynomials: leave out one");
    for (const char* const list : {"map.coefficients", "map.coefficients_im"})
        if (job.reals(list).size() > most_degree + 1)
            return report(list, fmt::format("{} coefficients: at most {} (degree {}) are possible",
                                            job.reals(list).size(), most_degree + 1, most_degree));
    try {
        const Polynomial polynomial = polynomial_from_job(job);
        for (int k = 0; k <= polynomial.degree; ++k)
            if (!std::isfinite(polynomial.re[k]) || !std::isfinite(polynomial.im[k]))
                return report(key, fmt::format("the coefficient of z^{} is too large for FP64", k));
        if (polynomial.degree == 0) report(key, "the polynomial has degree 0, so there is no root to seek");
    } catch (const PolynomialError& error) {
        report(key, fmt::format("{}: {}", key, error.what()));
    }
}

void refuse_useless_axes(const JobSpec& job, Method method, const ReportProblem& report) {
    for (std::size_t i = 0; i < job.axes().size(); ++i) {
        const SweepAxis& axis = job.axes()[i];
        if (!axis.is_frames() && !uses(method, axis.key))
            report(fmt::format("sweep[{}].parameter", i),
                   fmt::format("method \"{}\" does not use {}", info(method).name, axis.key));
        std::vector<std::string> names = field_names();
        names.insert(names.end(), {"component", "check"});
        for (const std::string& taken : names)
            if (axis.name == taken)
                report(fmt::format("sweep[{}].name", i),
                       fmt::format("an axis cannot be named \"{}\": the result uses that name", taken));
    }
}

void refuse_useless_changes(const JobSpec& job, Method method, const ReportProblem& report) {
    for (const FrameChange& change : job.frame_changes())
        if (!uses(method, change.key))
            report("frames.change",
                   fmt::format("method \"{}\" does not use {}", info(method).name, change.key));
}

void refuse_missing_fields(const JobSpec& job, Method method, const ReportProblem& report) {
    const Texts& fields = job.texts("output.fields");
    for (std::size_t i = 0; i < fields.size(); ++i)
        if (!provides(method, fields[i]))
            report(fmt::format("output.fields[{}]", i),
                   fmt::format("method \"{}\" does not provide {}", info(method).name, fields[i]));
}

void refuse_wrong_center(const JobSpec& job, Method method, const ReportProblem& report) {
    const Texts& center = job.texts("map.center");
    if (job.text("iterate.precision") != "perturbation") {
        if (center != Texts{"0", "0"})
            report("map.center", "map.center is only for iterate.precision = \"perturbation\"");
        return;
    }
    if (method != Method::Mandelbrot)
        report("iterate.precision",
               fmt::format("method \"{}\" has no perturbation: only mandelbrot", info(method).name));
    for (std::size_t i = 0; i < center.size(); ++i)
        if (!is_decimal(center[i]) || center[i].size() > 1000)
            report(fmt::format("map.center[{}]", i),
                   fmt::format("map.center[{}] = \"{}\": expected a decimal number, such as \"-0.75\"", i,
                               center[i].substr(0, 60)));
    if (job.varies("map.start", 0) || job.varies("map.start", 1) || job.reals("map.start") != Reals{0, 0})
        report("map.start", "perturbation starts at 0: leave out map.start");
    if (job.integer("iterate.max_iterations") > 100'000'000)
        report("iterate.max_iterations",
               "perturbation keeps the orbit of the center in memory: 100000000 iterations at most");
}

}  // namespace

void check_job(const JobSpec& job, const ReportProblem& report) {
    const Method method = method_named(job.text("map.method"));
    const MethodInfo& about = info(method);
    refuse_wrong_polynomial(job, about, report);
    refuse_useless_axes(job, method, report);
    refuse_useless_changes(job, method, report);
    refuse_missing_fields(job, method, report);
    const std::string& precision = job.text("iterate.precision");
    if (about.kind == Kind::Attractor && precision != "fp64")
        report("iterate.precision", fmt::format("method \"{}\" computes in fp64 only", about.name));
    refuse_wrong_center(job, method, report);
    refuse_useless_check(job, report);
}

}  // namespace voltpile::rootmap
