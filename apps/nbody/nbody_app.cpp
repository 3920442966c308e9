#include "nbody/nbody_app.h"

#include "nbody/cpu_targets.h"
#include "nbody/problem_from_job.h"
#include "nbody/reference.h"
#include "nbody/step_estimate.h"
#include "results/result_writer.h"
#include "run/agreement.h"
#include "run/rank_context.h"
#include "sweep/cpu_sweep.h"
#include "work/work_scheduler.h"

namespace voltpile {

NbodyApp::NbodyApp(const JobSpec& job)
    : job_(job),
      problem_(nbody::problem_from_job(job)),
      frames_(nbody::set_frames(job, problem_)),
      fields_(nbody::fields_from_job(job)),
      check_(nbody::check_from_job(job)) {}

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
    workload_ = nbody::workload_of(problem_, fields_, points);
}

std::vector<FieldSpec> NbodyApp::fields() const {
    std::vector<FieldSpec> specs;
    for (const OutcomeField& field : fields_) specs.push_back(field.spec);
    return specs;
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

Plan NbodyApp::plan(const PlanOptions& options, const Topology& topology) {
    PlanOptions on_cores = options;
    on_cores.device = DeviceChoice::Cpu;
    return App::plan(on_cores, topology);
}

std::unique_ptr<App> NbodyApp::reference(const JobSpec& job, std::vector<std::int64_t> points) const {
    return std::make_unique<nbody::Reference>(job, std::move(points));
}

void NbodyApp::run(RankContext& rank, WorkScheduler& work, ResultWriter& results) {
    const nbody::CpuSweep kernel = nbody::cpu_sweep(cpu_level());
    sweep_on_cpu(
        [&](PointStream& stream) { kernel(problem_, stream); }, fields_, rank.pus(), work,
        [&](WorkRange range, std::vector<FieldBuffer> data) { results.submit(range, std::move(data)); });
}

std::unique_ptr<App> make_nbody(const JobSpec& job) {
    return std::make_unique<NbodyApp>(job);
}

}  // namespace voltpile
