#include "rootmap/reference.h"

#include <fmt/format.h>

#include <utility>

#include "rootmap/cpu_targets.h"
#include "rootmap/iteration_estimate.h"
#include "rootmap/methods.h"
#include "rootmap/outcome_fields.h"
#include "rootmap/problem_from_job.h"

namespace voltpile::rootmap {

std::vector<KeySpec> check_keys() {
    return voltpile::check_keys("in double-double on CPU cores");
}

void refuse_useless_check(const JobSpec& job, const ReportProblem& report) {
    if (job.integer("check.points") == 0) return;
    const MethodInfo& method = info(method_named(job.text("map.method")));
    if (method.kind == Kind::Attractor)
        report("check.points",
               fmt::format("method \"{}\" has no reference in a higher precision: leave out the check",
                           method.name));
    if (job.text("iterate.precision") == "perturbation")
        report("check.points", "a perturbed map has no reference in a higher precision: leave out the check");
    if (job.text("iterate.precision") == "double-double")
        report("check.points",
               "the reference computes in double-double, as this job does: leave out the check");
}

std::optional<CheckPlan> check_from_job(const JobSpec& job) {
    return voltpile::check_from_job(job, "the same map in double-double");
}

Reference::Reference(const JobSpec& job, std::vector<std::int64_t> points)
    : CheckReference(std::move(points), "double-double"),
      problem_(problem_from_job(job)),
      frames_(set_frames(job, problem_)) {
    set_outcome_fields(fields_from_job(job, problem_));
    problem_.precision = Precision::DoubleDouble;
    problem_.largest_measure = largest_measure(problem_.precision);
}

Workload Reference::workload() const {
    return workload_of(problem_, outcome_fields(), sample_size());
}

void Reference::sweep_sample(PointStream& stream) const {
    cpu_sweep(cpu_level())(problem_, stream);
}

}  // namespace voltpile::rootmap
