#include "rootmap/problem_from_job.h"

#include <algorithm>
#include <complex>

#include "rootmap/methods.h"
#include "rootmap/outcome_fields.h"
#include "rootmap/parameter_table.h"
#include "rootmap/polynomial.h"
#include "rootmap/polynomial_roots.h"
#include "rootmap/reference_orbit.h"
#include "sweep/job_sources.h"

namespace voltpile::rootmap {

namespace {

SourceOf sources_of(Problem& problem) {
    ParameterSource* const sources = as_array(problem.sources);
    return [sources](const std::string& key, int element) -> ParameterSource& {
        return sources[parameter_index(key, element)];
    };
}

void set_sources(Problem& problem, const JobSpec& job) {
    ParameterSource* sources = as_array(problem.sources);
    for (const ParameterKey& key : parameter_keys()) {
        for (int i = 0; i < key.numbers; ++i)
            sources[key.first + i].base = job.reals(key.spec.path)[static_cast<std::size_t>(i)];
    }
    set_axes(job, sources_of(problem));
}

Precision precision_named(const std::string& name) {
    if (name == "fp32") return Precision::Fp32;
    if (name == "perturbation") return Precision::Perturbation;
    return name == "double-double" ? Precision::DoubleDouble : Precision::Fp64;
}

}  // namespace

Polynomial polynomial_from_job(const JobSpec& job) {
    const std::string& text = job.text("map.polynomial");
    if (!text.empty()) return make_polynomial(parse_polynomial(text));
    const Reals& re = job.reals("map.coefficients");
    const Reals& im = job.reals("map.coefficients_im");
    std::vector<std::complex<double>> terms(std::max(re.size(), im.size()));
    for (std::size_t k = 0; k < re.size(); ++k) terms[k].real(re[k]);
    for (std::size_t k = 0; k < im.size(); ++k) terms[k].imag(im[k]);
    return make_polynomial(terms);
}

double largest_measure(Precision precision) {
    return precision == Precision::Fp32 ? 1e37 : 1e290;
}

Problem problem_from_job(const JobSpec& job) {
    Problem problem;
    set_sources(problem, job);
    problem.method = method_named(job.text("map.method"));
    problem.precision = precision_named(job.text("iterate.precision"));
    problem.max_iterations = static_cast<std::int32_t>(job.integer("iterate.max_iterations"));
    problem.tolerance = job.real("iterate.tolerance");
    problem.escape_radius = job.real("iterate.escape_radius");
    problem.order = info(problem.method).order;
    problem.largest_measure = largest_measure(problem.precision);
    const Texts& fields = job.texts("output.fields");
    problem.want_distance = std::ranges::find(fields, "distance") != fields.end();
    if (info(problem.method).kind == Kind::Root) {
        problem.polynomial = polynomial_from_job(job);
        problem.roots = find_roots(problem.polynomial, problem.tolerance);
    }
    return problem;
}

std::vector<double> set_frames(const JobSpec& job, Problem& problem) {
    return voltpile::set_frames(job, sources_of(problem));
}

std::vector<double> set_orbit(const JobSpec& job, Problem& problem) {
    if (problem.precision != Precision::Perturbation) return {};
    std::vector<double> orbit =
        reference_orbit(job.texts("map.center"), problem.max_iterations, problem.escape_radius);
    problem.orbit = orbit.data();
    problem.orbit_steps = static_cast<std::int32_t>(orbit.size() / 2) - 1;
    return orbit;
}

std::vector<OutcomeField> fields_from_job(const JobSpec& job, const Problem& problem) {
    std::vector<OutcomeField> fields;
    for (const std::string& name : job.texts("output.fields")) fields.push_back(outcome_field(name, problem));
    return fields;
}

}  // namespace voltpile::rootmap
