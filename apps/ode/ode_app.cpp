#include "ode/ode_app.h"

#include "ode/cpu_targets.h"
#include "ode/step_estimate.h"
#include "results/result_writer.h"
#include "run/rank_context.h"
#include "sweep/cpu_sweep.h"
#include "work/work_scheduler.h"

namespace voltpile {

OdeApp::OdeApp(const JobSpec& job)
    : problem_(job),
      fields_(ode::fields_of(problem_)),
      workload_(ode::workload_of(problem_.problem(), fields_, job.point_count())) {}

std::vector<FieldSpec> OdeApp::fields() const {
    std::vector<FieldSpec> specs;
    for (const OutcomeField& field : fields_) specs.push_back(field.spec);
    return specs;
}

Plan OdeApp::plan(const PlanOptions& options, const Topology& topology) {
    PlanOptions on_cores = options;
    on_cores.device = DeviceChoice::Cpu;
    return App::plan(on_cores, topology);
}

void OdeApp::run(RankContext& rank, WorkScheduler& work, ResultWriter& results) {
    const CpuLevel level = cpu_level();
    sweep_on_cpu(
        [&](PointStream& stream) { ode::sweep_on_this_thread(level, problem_.problem(), stream); }, fields_,
        rank.pus(), work,
        [&](WorkRange range, std::vector<FieldBuffer> data) { results.submit(range, std::move(data)); });
}

std::unique_ptr<App> make_ode(const JobSpec& job) {
    return std::make_unique<OdeApp>(job);
}

}  // namespace voltpile
