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
constexpr std::int32_t kMostReferenceSteps = 10'000'000;  // only a collision ends a reference early

// These fields describe the computation and not its solution, so another method has other values.
constexpr std::array<std::string_view, 4> kOfTheMethod = {"energy_error", "angular_momentum_error",
                                                          "step_count", "status"};

bool can_be_checked(const std::string& field) {
    return std::ranges::find(kOfTheMethod, field) == kOfTheMethod.end();
}

}  // namespace

std::vector<KeySpec> check_keys() {
    return voltpile::check_keys("with rkn8 at a tolerance of 1e-14");
}

void refuse_useless_check(const JobSpec& job, const ReportProblem& report) {
    if (job.integer("check.points") == 0) return;
    if (std::ranges::none_of(job.texts("output.fields"), can_be_checked))
        report("check.points",
               fmt::format("nothing to check: output.fields has only fields that describe the computation "
                           "({}); add final_state",
                           fmt::join(kOfTheMethod, ", ")));
}

std::optional<CheckPlan> check_from_job(const JobSpec& job) {
    return voltpile::check_from_job(job, fmt::format("rkn8 at {:g}", kReferenceTolerance));
}

Reference::Reference(const JobSpec& job, std::vector<std::int64_t> points)
    : CheckReference(std::move(points), "rkn8 1e-14"),
      problem_(problem_from_job(job)),
      frames_(set_frames(job, problem_)) {
    problem_.method = Method::RungeKuttaNystrom8;
    problem_.tolerance = kReferenceTolerance;
    problem_.most_steps = kMostReferenceSteps;
    std::vector<OutcomeField> checked;
    for (const OutcomeField& field : fields_from_job(job))
        if (can_be_checked(field.spec.name)) checked.push_back(field);
    set_outcome_fields(std::move(checked));
}

Workload Reference::workload() const {
    return workload_of(problem_, outcome_fields(), sample_size());
}

void Reference::sweep_sample(PointStream& stream) const {
    cpu_sweep(cpu_level())(problem_, stream);
}

}  // namespace voltpile::nbody
