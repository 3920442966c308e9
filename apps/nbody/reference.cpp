#include "nbody/reference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "job/fingerprint.h"
#include "nbody/cpu_targets.h"
#include "nbody/problem_from_job.h"
#include "nbody/step_estimate.h"
#include "results/result_writer.h"
#include "run/rank_context.h"
#include "sweep/cpu_sweep.h"
#include "sweep/sample_stream.h"
#include "work/work_scheduler.h"

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
    std::vector<KeySpec> keys;
    keys.push_back({.path = "check.points",
                    .type = ValueType::Integer,
                    .unit = "1",
                    .default_value = Integers{0},
                    .range = {.min = 0, .max = 1'000'000},
                    .help = "Random points to compute again, with rkn8 at a tolerance of 1e-14, once the "
                            "result is complete; 0: none. The result then states how right it is (/check)."});
    keys.push_back({.path = "check.seed",
                    .type = ValueType::Integer,
                    .unit = "1",
                    .default_value = Integers{1},
                    .range = {.min = 0},
                    .help = "Chooses the random points."});
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
    if (std::ranges::none_of(job.texts("output.fields"), can_be_checked))
        report("check.points",
               fmt::format("nothing to check: output.fields has only fields that describe the computation "
                           "({}); add final_state",
                           fmt::join(kOfTheMethod, ", ")));
}

std::optional<CheckPlan> check_from_job(const JobSpec& job) {
    CheckPlan plan;
    plan.points = job.integer("check.points");
    if (plan.points == 0) return std::nullopt;
    plan.seed = job.integer("check.seed");
    plan.within = job.real("check.within");
    plan.method = fmt::format("rkn8 at {:g}", kReferenceTolerance);
    return plan;
}

Reference::Reference(const JobSpec& job, std::vector<std::int64_t> points)
    : problem_(problem_from_job(job)), frames_(set_frames(job, problem_)), points_(std::move(points)) {
    problem_.method = Method::RungeKuttaNystrom8;
    problem_.tolerance = kReferenceTolerance;
    problem_.most_steps = kMostReferenceSteps;
    for (const OutcomeField& field : fields_from_job(job))
        if (can_be_checked(field.spec.name)) fields_.push_back(field);
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
    return make_layout(job, fields(), {sample}, {{"sample", points}, {"reference", "rkn8 1e-14"}});
}

Workload Reference::workload() const {
    return workload_of(problem_, fields_, std::ssize(points_));
}

Plan Reference::plan(const PlanOptions& options, const Topology& topology) {
    PlanOptions on_cores = options;
    on_cores.device = DeviceChoice::Cpu;
    return App::plan(on_cores, topology);
}

void Reference::run(RankContext& rank, WorkScheduler& work, ResultWriter& results) {
    const CpuSweep kernel = cpu_sweep(cpu_level());
    const auto sweep = [&](PointStream& numbers) {
        SampleStream stream(numbers, points_);
        kernel(problem_, stream);
    };
    sweep_on_cpu(sweep, fields_, rank.pus(), work, [&](WorkRange range, std::vector<FieldBuffer> data) {
        results.submit(range, std::move(data));
    });
}

}  // namespace voltpile::nbody
