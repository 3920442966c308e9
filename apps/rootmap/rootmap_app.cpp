#include "rootmap/rootmap_app.h"

#include "results/result_writer.h"
#include "rootmap/cpu_targets.h"
#include "rootmap/iteration_estimate.h"
#include "rootmap/precision.h"
#include "rootmap/problem_from_job.h"
#include "rootmap/reference.h"
#include "run/agreement.h"
#include "run/rank_context.h"
#include "sweep/cpu_sweep.h"
#include "sweep/job_sources.h"
#include "work/work_scheduler.h"
#if VOLTPILE_CUDA
#include "rootmap/gpu_program.h"
#include "sweep/gpu_sweep.h"
#endif

namespace voltpile {

RootmapApp::RootmapApp(const JobSpec& job)
    : problem_(rootmap::problem_from_job(job)),
      frames_(rootmap::set_frames(job, problem_)),
      orbit_(rootmap::set_orbit(job, problem_)),
      fields_(rootmap::fields_from_job(job, problem_)),
      check_(rootmap::check_from_job(job)),
      workload_(rootmap::workload_of(problem_, fields_, job.point_count())),
      frame_count_(frame_count(job)),
      frame_points_(job.point_count() / frame_count_) {}

std::vector<FieldSpec> RootmapApp::fields() const {
    std::vector<FieldSpec> specs;
    for (const OutcomeField& field : fields_) specs.push_back(field.spec);
    return specs;
}

std::vector<std::string> RootmapApp::warnings() const {
    return rootmap::frame_warnings(problem_, frame_count_, frame_points_);
}

Plan RootmapApp::plan(const PlanOptions& options, const Topology& topology) {
    Plan plan = App::plan(options, topology);
    ranks_ = plan.ranks;
    return plan;
}

void RootmapApp::connect(const MpiSession& mpi) {
    // Also a barrier: no rank takes ranges while another still prepares.
    all_agree(mpi.world(), [&] {
#if VOLTPILE_CUDA
        const RankPlan& mine = ranks_[static_cast<std::size_t>(mpi.world().rank())];
        if (mine.gpu >= 0)
            gpu_sweep_ =
                std::make_shared<GpuSweep>([&] { return rootmap::make_gpu_program(problem_, frames_); },
                                           fields_, mine.device, workload_.points, duty_);
#endif
        return std::string();
    });
}

void RootmapApp::disconnect() {
    gpu_sweep_.reset();
}

std::unique_ptr<App> RootmapApp::reference(const JobSpec& job, std::vector<std::int64_t> points) const {
    return std::make_unique<rootmap::Reference>(job, std::move(points));
}

void RootmapApp::run(RankContext& rank, WorkScheduler& work, ResultWriter& results) {
    const auto submit = [&](WorkRange range, std::vector<FieldBuffer> data) {
        results.submit(range, std::move(data));
    };
#if VOLTPILE_CUDA
    if (gpu_sweep_) return gpu_sweep_->run(work, submit);
#endif
    const rootmap::CpuSweep kernel = rootmap::cpu_sweep(cpu_level());
    sweep_on_cpu([&](PointStream& stream) { kernel(problem_, stream); }, fields_, rank.pus(), work, submit);
}

std::unique_ptr<App> make_rootmap(const JobSpec& job) {
    return std::make_unique<RootmapApp>(job);
}

}  // namespace voltpile
