#include "nbody/reference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "nbody/cpu_targets.h"
#include "nbody/problem_from_job.h"
#include "nbody/step_estimate.h"

namespace voltpile::nbody {

namespace {

constexpr double kReferenceTolerance = 1e-14;
constexpr double kDoubleDoubleTolerance = 1e-20;
constexpr std::int32_t kMostReferenceSteps = 10'000'000;  // only a collision ends a reference early

// These fields describe the computation and not its solution, so another method has other values.
constexpr std::array<std::string_view, 4> kOfTheMethod = {"energy_error", "angular_momentum_error",
                                                          "step_count", "status"};

bool in_double_double(const JobSpec& job) {
    return job.text("integrate.precision") == "double-double";
}

double tolerance_for(const JobSpec& job) {
    return in_double_double(job) ? kDoubleDoubleTolerance : kReferenceTolerance;
}

// In double-double rkn8 does not watch the path.
bool can_be_checked(const JobSpec& job, const std::string& field) {
    if (in_double_double(job) && field.starts_with("closest")) return false;
    return std::ranges::find(kOfTheMethod, field) == kOfTheMethod.end();
}

}  // namespace

std::vector<KeySpec> check_keys() {
    return voltpile::check_keys(
        "with rkn8 at a tolerance of 1e-14, or of 1e-20 if the job computes in double-double");
}

void refuse_useless_check(const JobSpec& job, const ReportProblem& report) {
    if (job.integer("check.points") == 0) return;
    if (in_double_double(job) && job.real("stop.collision") > 0)
        report("stop.collision",
               "the reference does not notice collisions in double-double: leave out the check");
    if (std::ranges::none_of(job.texts("output.fields"),
                             [&](const std::string& field) { return can_be_checked(job, field); }))
        report("check.points",
               fmt::format("nothing to check: output.fields has only fields that describe the computation "
                           "({}); add final_state",
                           fmt::join(kOfTheMethod, ", ")));
}

std::optional<CheckPlan> check_from_job(const JobSpec& job) {
    return voltpile::check_from_job(job, fmt::format("rkn8 at {:g}", tolerance_for(job)));
}

Reference::Reference(const JobSpec& job, std::vector<std::int64_t> points)
    : CheckReference(std::move(points), fmt::format("rkn8 {:g}", tolerance_for(job))),
      problem_(problem_from_job(job)),
      frames_(set_frames(job, problem_)) {
    problem_.method = Method::RungeKuttaNystrom8;
    problem_.tolerance = tolerance_for(job);
    problem_.most_steps = kMostReferenceSteps;
    std::vector<OutcomeField> checked;
    for (const OutcomeField& field : fields_from_job(job))
        if (can_be_checked(job, field.spec.name)) checked.push_back(field);
    set_outcome_fields(std::move(checked));
}

Workload Reference::workload() const {
    return workload_of(problem_, outcome_fields(), sample_size());
}

void Reference::sweep_sample(PointStream& stream) const {
    cpu_sweep(cpu_level())(problem_, stream);
}

}  // namespace voltpile::nbody
