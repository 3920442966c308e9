#include "threebody/reference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "job/fingerprint.h"
#include "results/result_writer.h"
#include "run/rank_context.h"
#include "sweep/cpu_sweep.h"
#include "sweep/sample_stream.h"
#include "threebody/cpu_targets.h"
#include "threebody/methods.h"
#include "threebody/outcome_fields.h"
#include "threebody/problem_from_job.h"
#include "work/work_scheduler.h"

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
    std::vector<KeySpec> keys;
    keys.push_back({.path = "check.points",
                    .type = ValueType::Integer,
                    .unit = "1",
                    .default_value = Integers{0},
                    .range = {.min = 0, .max = 1'000'000},
                    .help = "Random points to compute again, with rkn8 on CPU cores, once the result is "
                            "complete; 0: none. The result then states how right it is (/check)."});
    keys.push_back({.path = "check.seed",
                    .type = ValueType::Integer,
                    .unit = "1",
                    .default_value = Integers{1},
                    .range = {.min = 0},
                    .help = "Chooses the random points."});
    keys.push_back({.path = "check.reference_tolerance",
                    .unit = "1",
                    .default_value = Reals{1e-14},
                    .range = {.min = 1e-28, .max = 1e-2},
                    .help =
                        "integrate.tolerance of the reference. It computes in double-double if the job does "
                        "or if this is below 1e-14, else in FP64. In double-double it provides neither "
                        "closest_approach nor the fields that only adaptive methods have, and takes about "
                        "twenty times as long a step."});
    keys.push_back({.path = "check.within",
                    .unit = "1",
                    .default_value = Reals{0.01},
                    .range = {.min = 0, .min_open = true},
                    .help = "The absolute difference, in the unit of each field, that counts as right."});
    for (KeySpec& key : keys) key.identity = false;  // the result's values are the same
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
    CheckPlan plan;
    plan.points = job.integer("check.points");
    if (plan.points == 0) return std::nullopt;
    plan.seed = job.integer("check.seed");
    plan.within = job.real("check.within");
    plan.method = fmt::format("{} at {:g}{}", kReferenceMethod, job.real("check.reference_tolerance"),
                              in_double_double(job) ? " in double-double" : "");
    return plan;
}

Reference::Reference(const JobSpec& job, std::vector<std::int64_t> points)
    : problem_(problem_from_job(job)), frames_(set_frames(job, problem_)), points_(std::move(points)) {
    problem_.method = method_named(kReferenceMethod);
    problem_.tolerance = job.real("check.reference_tolerance");
    problem_.most_steps = std::max(problem_.most_steps, kLeastBudget);
    problem_.single_precision = false;
    problem_.double_double = in_double_double(job);
    for (const OutcomeField& field : fields_from_job(job, problem_))
        if (can_be_checked(field.spec.name, problem_.double_double)) fields_.push_back(field);
}

std::vector<FieldSpec> Reference::fields() const {
    std::vector<FieldSpec> specs;
    for (const OutcomeField& field : fields_) specs.push_back(field.spec);
    return specs;
}

ResultLayout Reference::layout(const JobSpec& job) const {
    SweepAxis sample;
    sample.name = "sample";
    sample.unit = "1";
    sample.count = std::ssize(points_);
    sample.to = static_cast<double>(sample.count);
    const std::string points = hash_128(fmt::format("{}", fmt::join(points_, " ")));
    const std::string how = fmt::format("{} {}", kReferenceMethod, problem_.tolerance);
    return make_layout(job, fields(), {sample}, {{"sample", points}, {"reference", how}});
}

Workload Reference::workload() const {
    Workload workload;
    workload.unit = "pair-steps";
    constexpr double usual_steps = 3000;  // of the published starts at 1e-14
    workload.units_per_point = usual_steps * std::pow(kLeastOfFp64 / problem_.tolerance, 1.0 / 7);
    workload.flop_per_unit = instructions_of(problem_);
    workload.points = std::ssize(points_);
    for (const FieldSpec& field : fields())
        workload.bytes_per_point += static_cast<std::int64_t>(field.bytes_per_point());
    return workload;
}

Plan Reference::plan(const PlanOptions& options, const Topology& topology) {
    PlanOptions on_cores = options;
    on_cores.device = DeviceChoice::Cpu;  // an error of a GPU must not be in its reference
    return App::plan(on_cores, topology);
}

void Reference::run(RankContext& rank, WorkScheduler& work, ResultWriter& results) {
    const CpuTarget target = cpu_target(cpu_level());
    const auto sweep = [&](PointStream& numbers) {
        SampleStream stream(numbers, points_);
        target.sweep(problem_, stream);
    };
    sweep_on_cpu(sweep, fields_, rank.pus(), work, [&](WorkRange range, std::vector<FieldBuffer> data) {
        results.submit(range, std::move(data));
    });
}

}  // namespace voltpile::threebody
