#include "threebody/reference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "threebody/cpu_targets.h"
#include "threebody/methods.h"
#include "threebody/outcome_fields.h"
#include "threebody/problem_from_job.h"

namespace voltpile::threebody {
namespace {

constexpr const char* kReferenceMethod = "rkn8";
constexpr double kLeastOfFp64 = 1e-14;             // tolerance
constexpr std::int32_t kLeastBudget = 10'000'000;  // steps: only a collision ends a reference early

// These fields describe the computation and not its solution, so another method has other values.
constexpr std::array<std::string_view, 4> kOfTheMethod = {"energy_error", "angular_momentum_error",
                                                          "step_count", "quality"};

bool in_double_double(const JobSpec& job) {
    return job.text("integrate.precision") == "double-double" ||
           job.real("check.reference_tolerance") < kLeastOfFp64;
}

// rkn8 provides no field of the path in double-double.
bool can_be_checked(const std::string& field, bool double_double) {
    if (double_double && (needs_adaptive_method(field) || field == "closest_approach")) return false;
    return std::ranges::find(kOfTheMethod, field) == kOfTheMethod.end();
}

}  // namespace

std::vector<KeySpec> check_keys() {
    std::vector<KeySpec> keys = voltpile::check_keys("with rkn8 on CPU cores");
    keys.push_back({.path = "check.reference_tolerance",
                    .unit = "1",
                    .default_value = Reals{1e-14},
                    .range = {.min = 1e-28, .max = 1e-2},
                    .help =
                        "integrate.tolerance of the reference. It computes in double-double if the job does "
                        "or if this is below 1e-14, else in FP64. In double-double it provides neither "
                        "closest_approach nor the fields that only adaptive methods have, and takes about "
                        "twenty times as long a step."});
    keys.back().identity = false;  // the result's values are the same
    return keys;
}

void refuse_useless_check(const JobSpec& job, const ReportProblem& report) {
    if (job.integer("check.points") == 0) return;
    const bool double_double = in_double_double(job);
    const auto checked = [&](const std::string& field) { return can_be_checked(field, double_double); };
    if (std::ranges::none_of(job.texts("output.fields"), checked))
        report("check.points",
               double_double
                   ? "nothing to check: output.fields has no field that the reference provides in "
                     "double-double; add steps_together or final_state"
                   : fmt::format("nothing to check: output.fields has only fields that describe the "
                                 "computation ({}); add steps_together or final_state",
                                 fmt::join(kOfTheMethod, ", ")));
    if (double_double && job.boolean("stop.escape"))
        report("stop.escape", "the reference does not notice escapes in double-double: leave out the check");
    const double tolerance = job.real("integrate.tolerance");
    const double reference = job.real("check.reference_tolerance");
    if (info(method_named(job.text("integrate.method"))).adaptive && reference > tolerance)
        report("check.reference_tolerance",
               fmt::format("the reference has check.reference_tolerance = {:g}, but the job's "
                           "integrate.tolerance = {:g} is smaller: lower the reference's",
                           reference, tolerance));
}

std::optional<CheckPlan> check_from_job(const JobSpec& job) {
    return voltpile::check_from_job(
        job, fmt::format("{} at {:g}{}", kReferenceMethod, job.real("check.reference_tolerance"),
                         in_double_double(job) ? " in double-double" : ""));
}

Reference::Reference(const JobSpec& job, std::vector<std::int64_t> points)
    : CheckReference(std::move(points),
                     fmt::format("{} {}", kReferenceMethod, job.real("check.reference_tolerance"))),
      problem_(problem_from_job(job)),
      frames_(set_frames(job, problem_)) {
    problem_.method = method_named(kReferenceMethod);
    problem_.tolerance = job.real("check.reference_tolerance");
    problem_.most_steps = std::max(problem_.most_steps, kLeastBudget);
    problem_.single_precision = false;
    problem_.double_double = in_double_double(job);
    std::vector<OutcomeField> checked;
    for (const OutcomeField& field : fields_from_job(job, problem_))
        if (can_be_checked(field.spec.name, problem_.double_double)) checked.push_back(field);
    set_outcome_fields(std::move(checked));
}

Workload Reference::workload() const {
    Workload workload;
    workload.unit = "pair-steps";
    constexpr double usual_steps = 3000;  // of the published starts at 1e-14
    workload.units_per_point = usual_steps * std::pow(kLeastOfFp64 / problem_.tolerance, 1.0 / 7);
    workload.flop_per_unit = instructions_of(problem_);
    workload.points = sample_size();
    for (const FieldSpec& field : fields())
        workload.bytes_per_point += static_cast<std::int64_t>(field.bytes_per_point());
    return workload;
}

void Reference::sweep_sample(PointStream& stream) const {
    cpu_target(cpu_level()).sweep(problem_, stream);
}

}  // namespace voltpile::threebody
