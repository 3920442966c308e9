#include "threebody/threebody_app.h"

#include "sweep/job_sources.h"
#include "threebody/cpu_targets.h"
#include "threebody/gpu_kernel.h"
#include "threebody/methods.h"
#include "threebody/problem_from_job.h"
#include "threebody/reference.h"
#include "threebody/resolution.h"
#include "threebody/step_estimate.h"
#if VOLTPILE_CUDA
#include "threebody/gpu_program.h"
#endif

namespace voltpile {

ThreebodyApp::ThreebodyApp(const JobSpec& job)
    : SweepApp(Processors::GpusAndCores),
      problem_(threebody::problem_from_job(job)),
      frames_(threebody::set_frames(job, problem_)),
      check_(threebody::check_from_job(job)),
      points_(job.point_count()),
      frame_count_(frame_count(job)),
      steps_per_point_(threebody::info(problem_.method).adaptive
                           ? threebody::estimated_steps(problem_, points_)
                           : threebody::estimated_fixed_steps(problem_, points_)) {
    set_outcome_fields(threebody::fields_from_job(job, problem_));
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

void ThreebodyApp::sweep_points(PointStream& stream) const {
    threebody::cpu_target(cpu_level()).sweep(problem_, stream);
}

std::unique_ptr<GpuProgram> ThreebodyApp::gpu_program() const {
#if VOLTPILE_CUDA
    return threebody::make_gpu_program(problem_);
#else
    return nullptr;
#endif
}

std::unique_ptr<App> make_threebody(const JobSpec& job) {
    return std::make_unique<ThreebodyApp>(job);
}

}  // namespace voltpile
