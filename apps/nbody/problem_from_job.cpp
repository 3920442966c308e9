#include "nbody/problem_from_job.h"

#include <cmath>

#include "nbody/methods.h"
#include "nbody/outcome_fields.h"
#include "nbody/parameter_table.h"
#include "sweep/job_sources.h"

namespace voltpile::nbody {

namespace {

int bodies_of(const JobSpec& job) {
    return static_cast<int>(job.reals("system.mass").size());
}

void set_fixed_numbers(const JobSpec& job, Problem& problem) {
    for (const ParameterKey& key : parameter_keys()) {
        if (key.spec.type == ValueType::Integer) {
            problem.numbers[key.first].swept.base = static_cast<double>(job.integer(key.spec.path));
            continue;
        }
        const Reals& values = job.reals(key.spec.path);
        for (std::size_t i = 0; i < values.size(); ++i)
            problem.numbers[key.first + static_cast<int>(i)].swept.base = values[i];
    }
}

SourceOf sources_of(Problem& problem) {
    return [&problem](const std::string& key, int element) -> ParameterSource& {
        return problem.numbers[number_of(key, element)].swept;
    };
}

}  // namespace

Problem problem_from_job(const JobSpec& job) {
    Problem problem;
    problem.bodies = bodies_of(job);
    set_fixed_numbers(job, problem);
    set_axes(job, sources_of(problem));
    problem.method = method_named(job.text("integrate.method"));
    problem.potential = potential_named(job.text("potential.kind"));
    problem.double_double = job.text("integrate.precision") == "double-double";
    problem.tolerance = job.real("integrate.tolerance");
    problem.most_steps = info(problem.method).adaptive
                             ? static_cast<std::int32_t>(job.integer("integrate.max_steps"))
                             : 2147483647;
    problem.collision = job.real("stop.collision");
    problem.escape_distance = job.real("stop.escape_distance");
    problem.separation = job.real("stop.separation");
    problem.want_closest = problem.collision > 0;
    for (const OutcomeField& field : fields_from_job(job)) {
        const auto wanted = static_cast<Field>(field.number);
        problem.want_closest |= wanted == Field::closest_approach || wanted == Field::closest_time ||
                                wanted == Field::closest_pair;
        problem.want_deviation |= is_of_deviation(field.spec.name);
    }
    return problem;
}

std::vector<double> set_frames(const JobSpec& job, Problem& problem) {
    return voltpile::set_frames(job, sources_of(problem));
}

void set_table(const StartTable& table, Problem& problem) {
    for (std::size_t i = 0; i < table.numbers.size(); ++i)
        problem.numbers[table.numbers[i]].column = static_cast<int>(i);
    problem.table = table.values.data();
    problem.table_columns = std::ssize(table.numbers);
}

std::vector<OutcomeField> fields_from_job(const JobSpec& job) {
    std::vector<OutcomeField> fields;
    for (const std::string& name : job.texts("output.fields"))
        fields.push_back(outcome_field(name, bodies_of(job), std::isfinite(job.real("stop.separation"))));
    return fields;
}

}  // namespace voltpile::nbody
