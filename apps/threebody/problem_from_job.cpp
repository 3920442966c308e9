#include "threebody/problem_from_job.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace voltpile::threebody {

namespace {

Method method_named(const std::string& name) {
    if (name == "euler") return Method::Euler;
    if (name == "leapfrog") return Method::Leapfrog;
    if (name == "yoshida4") return Method::Yoshida4;
    if (name == "rk4") return Method::RungeKutta4;
    throw std::logic_error("threebody has no integrator " + name);
}

ParameterSource& source_of(Problem& problem, const std::string& key, int element) {
    ParameterSet<ParameterSource>& sources = problem.sources;
    if (key == "system.G") return sources.G;
    if (key == "system.mass") return sources.mass[element];
    if (key == "system.position") return sources.position[element / 3][element % 3];
    if (key == "system.velocity") return sources.velocity[element / 3][element % 3];
    if (key == "system.twin_shift") return sources.twin_shift[element];
    if (key == "integrate.dt") return sources.dt;
    if (key == "integrate.steps") return sources.steps;
    throw std::logic_error("threebody cannot sweep " + key);
}

void set_bases(Problem& problem, const JobSpec& job) {
    problem.sources.G.base = job.real("system.G");
    problem.sources.dt.base = job.real("integrate.dt");
    problem.sources.steps.base = static_cast<double>(job.integer("integrate.steps"));
    for (const char* key : {"system.mass", "system.position", "system.velocity", "system.twin_shift"}) {
        const Reals& values = job.reals(key);
        for (std::size_t i = 0; i < values.size(); ++i) {
            source_of(problem, key, static_cast<int>(i)).base = values[i];
        }
    }
}

void set_axes(Problem& problem, const JobSpec& job) {
    std::int64_t stride = 1;
    for (const SweepAxis& axis : job.axes()) {
        ParameterSource& source = source_of(problem, axis.key, axis.element);
        source.from = axis.from;
        source.to = axis.to;
        source.count = axis.count;
        source.intervals = std::max<std::int64_t>(1, axis.endpoint ? axis.count - 1 : axis.count);
        source.stride = stride;
        stride *= axis.count;
    }
}

double last_value(const ParameterSource& source) {
    return source.from + (source.to - source.from) * static_cast<double>(source.count - 1) /
                             static_cast<double>(source.intervals);
}

std::int32_t largest_steps(const ParameterSource& steps) {
    const double largest = steps.count == 0 ? steps.base : std::max(steps.from, last_value(steps));
    return static_cast<std::int32_t>(largest + 0.5);
}

}  // namespace

Problem problem_from_job(const JobSpec& job) {
    Problem problem;
    set_bases(problem, job);
    set_axes(problem, job);
    problem.separation = job.real("stop.separation");
    problem.method = method_named(job.text("integrate.method"));
    problem.single_precision = job.text("integrate.precision") == "fp32";
    problem.same_forces = problem.sources.G.count == 0 && problem.sources.dt.count == 0 &&
                          std::all_of(std::begin(problem.sources.mass), std::end(problem.sources.mass),
                                      [](const ParameterSource& mass) { return mass.count == 0; });
    problem.largest_steps = largest_steps(problem.sources.steps);
    for (const OutcomeField field : fields_from_job(job)) {
        problem.want_energy_error |= field == OutcomeField::EnergyError;
        problem.want_closest_approach |= field == OutcomeField::ClosestApproach;
        problem.want_final_state |= field == OutcomeField::FinalState;
    }
    return problem;
}

std::vector<OutcomeField> fields_from_job(const JobSpec& job) {
    std::vector<OutcomeField> fields;
    for (const std::string& name : job.texts("output.fields")) fields.push_back(outcome_field(name));
    return fields;
}

}  // namespace voltpile::threebody
