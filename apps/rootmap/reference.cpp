#include "rootmap/reference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "job/fingerprint.h"
#include "results/result_writer.h"
#include "rootmap/cpu_targets.h"
#include "rootmap/iteration_estimate.h"
#include "rootmap/methods.h"
#include "rootmap/outcome_fields.h"
#include "rootmap/problem_from_job.h"
#include "run/rank_context.h"
#include "sweep/cpu_sweep.h"
#include "sweep/sample_stream.h"
#include "work/work_scheduler.h"

namespace voltpile::rootmap {

std::vector<KeySpec> check_keys() {
    std::vector<KeySpec> keys;
    keys.push_back({.path = "check.points",
                    .type = ValueType::Integer,
                    .unit = "1",
                    .default_value = Integers{0},
                    .range = {.min = 0, .max = 1'000'000},
                    .help = "Random points to compute again, in double-double on CPU cores, once the result "
                            "is complete; 0: none. The result then states how right it is (/check)."});
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
    CheckPlan plan;
    plan.points = job.integer("check.points");
    if (plan.points == 0) return std::nullopt;
    plan.seed = job.integer("check.seed");
    plan.within = job.real("check.within");
    plan.method = "the same map in double-double";
    return plan;
}

Reference::Reference(const JobSpec& job, std::vector<std::int64_t> points)
    : problem_(problem_from_job(job)),
      frames_(set_frames(job, problem_)),
      fields_(fields_from_job(job, problem_)),
      points_(std::move(points)) {
    problem_.precision = Precision::DoubleDouble;
    problem_.largest_measure = largest_measure(problem_.precision);
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
    return make_layout(job, fields(), {sample}, {{"sample", points}, {"reference", "double-double"}});
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

}  // namespace voltpile::rootmap
