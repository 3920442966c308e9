#include "rootmap/rootmap_app.h"

#include "rootmap/cpu_targets.h"
#include "rootmap/iteration_estimate.h"
#include "rootmap/precision.h"
#include "rootmap/problem_from_job.h"
#include "rootmap/reference.h"
#include "sweep/job_sources.h"
#if VOLTPILE_CUDA
#include "rootmap/gpu_program.h"
#endif

namespace voltpile {

RootmapApp::RootmapApp(const JobSpec& job)
    : SweepApp(Processors::GpusAndCores),
      problem_(rootmap::problem_from_job(job)),
      frames_(rootmap::set_frames(job, problem_)),
      orbit_(rootmap::set_orbit(job, problem_)),
      check_(rootmap::check_from_job(job)),
      frame_count_(frame_count(job)),
      frame_points_(job.point_count() / frame_count_) {
    set_outcome_fields(rootmap::fields_from_job(job, problem_));
    workload_ = rootmap::workload_of(problem_, outcome_fields(), job.point_count());
}

std::vector<std::string> RootmapApp::warnings() const {
    return rootmap::frame_warnings(problem_, frame_count_, frame_points_);
}

std::unique_ptr<App> RootmapApp::reference(const JobSpec& job, std::vector<std::int64_t> points) const {
    return std::make_unique<rootmap::Reference>(job, std::move(points));
}

void RootmapApp::sweep_points(PointStream& stream) const {
    rootmap::cpu_sweep(cpu_level())(problem_, stream);
}

std::unique_ptr<GpuProgram> RootmapApp::gpu_program() const {
#if VOLTPILE_CUDA
    return rootmap::make_gpu_program(problem_, frames_);
#else
    return nullptr;
#endif
}

std::unique_ptr<App> make_rootmap(const JobSpec& job) {
    return std::make_unique<RootmapApp>(job);
}

}  // namespace voltpile
