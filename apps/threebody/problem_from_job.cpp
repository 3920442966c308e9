#include "threebody/problem_from_job.h"

#include <algorithm>

#include "sweep/job_sources.h"
#include "threebody/methods.h"
#include "threebody/parameter_table.h"

namespace voltpile::threebody {

namespace {

void set_bases(Problem& problem, const JobSpec& job) {
    ParameterSource* sources = as_array(problem.sources);
    for (const ParameterKey& key : parameter_keys()) {
        for (int i = 0; i < key.count(); ++i) {
            const auto element = static_cast<std::size_t>(i);
            sources[key.first + i].base = key.spec.type == ValueType::Integer
                                              ? static_cast<double>(job.integers(key.spec.path)[element])
                                              : job.reals(key.spec.path)[element];
        }
    }
}

SourceOf sources_of(Problem& problem) {
    ParameterSource* const sources = as_array(problem.sources);
    return [sources](const std::string& key, int element) -> ParameterSource& {
        return sources[parameter_index(key, element)];
    };
}

bool same_forces(const ParameterSet<ParameterSource>& sources) {
    for (const ParameterKey& key : parameter_keys()) {
        for (int i = 0; i < key.count(); ++i) {
            if (key.in_forces && varies(as_array(sources)[key.first + i])) return false;
        }
    }
    return true;
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
    set_axes(job, sources_of(problem));
    problem.separation = job.real("stop.separation");
    problem.method = method_named(job.text("integrate.method"));
    problem.tolerance = job.real("integrate.tolerance");
    problem.most_steps = static_cast<std::int32_t>(job.integer("integrate.max_steps"));
    problem.single_precision = job.text("integrate.precision") == "fp32";
    problem.double_double = job.text("integrate.precision") == "double-double";
    problem.same_forces = same_forces(problem.sources);
    problem.largest_steps = largest_steps(problem.sources.steps);
    for (const OutcomeField& field : fields_from_job(job, problem)) request_field(field, problem);
    problem.stop_at_escape = job.boolean("stop.escape");
    problem.want_escape |= problem.stop_at_escape;
    return problem;
}

std::vector<double> set_frames(const JobSpec& job, Problem& problem) {
    std::vector<double> numbers = voltpile::set_frames(job, sources_of(problem));
    problem.frame_numbers = numbers.data();
    problem.frame_numbers_count = std::ssize(numbers);
    problem.same_forces = same_forces(problem.sources);
    const ParameterSource& steps = problem.sources.steps;
    for (std::int64_t k = 0; k < frame_count(job) && steps.frames != nullptr; ++k)
        problem.largest_steps =
            std::max(problem.largest_steps, static_cast<std::int32_t>(steps.frames[2 * k] + 0.5));
    return numbers;
}

std::vector<OutcomeField> fields_from_job(const JobSpec& job, const Problem& problem) {
    std::vector<OutcomeField> fields;
    for (const std::string& name : job.texts("output.fields")) fields.push_back(outcome_field(name, problem));
    return fields;
}

}  // namespace voltpile::threebody
