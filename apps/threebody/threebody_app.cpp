#include "threebody/threebody_app.h"

#include "results/result_writer.h"
#include "run/agreement.h"
#include "run/rank_context.h"
#include "sweep/cpu_sweep.h"
#include "sweep/job_sources.h"
#include "threebody/cpu_targets.h"
#include "threebody/gpu_kernel.h"
#include "threebody/methods.h"
#include "threebody/problem_from_job.h"
#include "threebody/reference.h"
#include "threebody/resolution.h"
#include "threebody/step_estimate.h"
#include "work/work_scheduler.h"
#if VOLTPILE_CUDA
#include "sweep/gpu_sweep.h"
#include "threebody/gpu_program.h"
#endif

namespace voltpile {

ThreebodyApp::ThreebodyApp(const JobSpec& job)
    : problem_(threebody::problem_from_job(job)),
      frames_(threebody::set_frames(job, problem_)),
      fields_(threebody::fields_from_job(job, problem_)),
      check_(threebody::check_from_job(job)),
      points_(job.point_count()),
      frame_count_(frame_count(job)),
      steps_per_point_(threebody::info(problem_.method).adaptive
                           ? threebody::estimated_steps(problem_, points_)
                           : threebody::estimated_fixed_steps(problem_, points_)) {}

std::vector<FieldSpec> ThreebodyApp::fields() const {
    std::vector<FieldSpec> specs;
    for (const OutcomeField& field : fields_) specs.push_back(field.spec);
    return specs;
}

Workload ThreebodyApp::workload() const {
    Workload workload;
    workload.unit = "pair-steps";
    workload.units_per_point = steps_per_point_;
    workload.flop_per_unit = threebody::instructions_of(problem_);
    if (!problem_.double_double)
        workload.measured_as = threebody::measured_rate_name(problem_.method, problem_.single_precision);
    workload.fp64 = !problem_.single_precision;
    // Pairs in double-double lie in memory (docs/numerics.md).
    if (problem_.double_double) workload.gpu_efficiency = 0.12;
    workload.points = points_;
    workload.gpu_state_bytes = static_cast<std::int64_t>(
        threebody::raw_bytes_per_point(problem_, threebody::info(problem_.method).adaptive));
    for (const FieldSpec& field : fields()) {
        workload.bytes_per_point += static_cast<std::int64_t>(field.bytes_per_point());
    }
    return workload;
}

std::vector<std::string> ThreebodyApp::warnings() const {
    return threebody::frame_warnings(problem_, frame_count_, points_ / frame_count_);
}

std::unique_ptr<App> ThreebodyApp::reference(const JobSpec& job, std::vector<std::int64_t> points) const {
    return std::make_unique<threebody::Reference>(job, std::move(points));
}

Plan ThreebodyApp::plan(const PlanOptions& options, const Topology& topology) {
    Plan plan = App::plan(options, topology);
    ranks_ = plan.ranks;
    return plan;
}

void ThreebodyApp::connect(const MpiSession& mpi) {
    // Also a barrier: no rank takes ranges while another still prepares.
    all_agree(mpi.world(), [&] {
#if VOLTPILE_CUDA
        const RankPlan& mine = ranks_[static_cast<std::size_t>(mpi.world().rank())];
        if (mine.gpu >= 0)
            gpu_sweep_ = std::make_shared<GpuSweep>([&] { return threebody::make_gpu_program(problem_); },
                                                    fields_, mine.device, points_, duty_);
#endif
        return std::string();
    });
}

void ThreebodyApp::disconnect() {
    gpu_sweep_.reset();
}

void ThreebodyApp::run(RankContext& rank, WorkScheduler& work, ResultWriter& results) {
    const auto submit = [&](WorkRange range, std::vector<FieldBuffer> data) {
        results.submit(range, std::move(data));
    };
#if VOLTPILE_CUDA
    if (gpu_sweep_) return gpu_sweep_->run(work, submit);
#endif
    const threebody::CpuTarget target = threebody::cpu_target(cpu_level());
    sweep_on_cpu([&](PointStream& stream) { target.sweep(problem_, stream); }, fields_, rank.pus(), work,
                 submit);
}

std::unique_ptr<App> make_threebody(const JobSpec& job) {
    return std::make_unique<ThreebodyApp>(job);
}

}  // namespace voltpile
