#include "nbody/nbody_app.h"

#include "nbody/cpu_targets.h"
#include "nbody/methods.h"
#include "nbody/problem_from_job.h"
#include "nbody/reference.h"
#include "nbody/step_estimate.h"
#include "run/agreement.h"
#if VOLTPILE_CUDA
#include "nbody/gpu_program.h"
#endif

namespace voltpile {

NbodyApp::NbodyApp(const JobSpec& job)
    : SweepApp(nbody::needs_cores(nbody::problem_from_job(job)) ? Processors::Cores
                                                                : Processors::GpusAndCores),
      job_(job),
      problem_(nbody::problem_from_job(job)),
      frames_(nbody::set_frames(job, problem_)),
      check_(nbody::check_from_job(job)) {
    set_outcome_fields(nbody::fields_from_job(job));
}

void NbodyApp::prepare(const Communicator* world) {
    std::int64_t points = job_.point_count();
    if (!job_.text("table.file").empty()) {
        if (world)
            table_ = nbody::start_table_from_bytes(
                decide_on_root(*world, [&] { return nbody::to_bytes(nbody::read_start_table(job_)); }));
        else
            table_ = nbody::read_start_table(job_);
        nbody::set_table(table_, problem_);
        points = table_.rows();
    }
    workload_ = nbody::workload_of(problem_, outcome_fields(), points);
}

ResultLayout NbodyApp::layout(const JobSpec& job) const {
    if (table_.numbers.empty()) return make_layout(job, fields());
    SweepAxis row;
    row.name = "row";
    row.parameter = "row of the table";
    row.unit = "1";
    row.count = table_.rows();
    row.to = static_cast<double>(row.count);
    return make_layout(job, fields(), {row}, {{job.text("table.file"), nbody::fingerprint_of(table_)}});
}

std::unique_ptr<App> NbodyApp::reference(const JobSpec& job, std::vector<std::int64_t> points) const {
    return std::make_unique<nbody::Reference>(job, std::move(points));
}

void NbodyApp::sweep_points(PointStream& stream) const {
    nbody::cpu_sweep(cpu_level())(problem_, stream);
}

std::unique_ptr<GpuProgram> NbodyApp::gpu_program() const {
#if VOLTPILE_CUDA
    return nbody::make_gpu_program(problem_, frames_, table_.values);
#else
    return nullptr;
#endif
}

std::unique_ptr<App> make_nbody(const JobSpec& job) {
    return std::make_unique<NbodyApp>(job);
}

}  // namespace voltpile
