#include "sweep/sweep_app.h"

#include <string>
#include <utility>

#include "results/result_writer.h"
#include "run/agreement.h"
#include "run/rank_context.h"
#include "sweep/cpu_sweep.h"
#include "work/work_scheduler.h"
#if VOLTPILE_CUDA
#include "sweep/gpu_sweep.h"
#endif

namespace voltpile {

std::vector<FieldSpec> SweepApp::fields() const {
    std::vector<FieldSpec> specs;
    for (const OutcomeField& field : fields_) specs.push_back(field.spec);
    return specs;
}

Plan SweepApp::plan(const PlanOptions& options, const Topology& topology) {
    PlanOptions possible = options;
    if (processors_ == Processors::Cores) possible.device = DeviceChoice::Cpu;
    Plan plan = App::plan(possible, topology);
    ranks_ = plan.ranks;
    return plan;
}

void SweepApp::connect(const MpiSession& mpi) {
    // Also a barrier: no rank takes ranges while another still prepares.
    all_agree(mpi.world(), [&] {
#if VOLTPILE_CUDA
        const RankPlan& mine = ranks_[static_cast<std::size_t>(mpi.world().rank())];
        if (mine.gpu >= 0)
            gpu_sweep_ = std::make_shared<GpuSweep>([this] { return gpu_program(); }, fields_, mine.device,
                                                    workload().points, duty_);
#endif
        return std::string();
    });
}

void SweepApp::disconnect() {
    gpu_sweep_.reset();
}

void SweepApp::run(RankContext& rank, WorkScheduler& work, ResultWriter& results) {
    const auto submit = [&](WorkRange range, std::vector<FieldBuffer> data) {
        results.submit(range, std::move(data));
    };
#if VOLTPILE_CUDA
    if (gpu_sweep_) return gpu_sweep_->run(work, submit);
#endif
    sweep_on_cpu([this](PointStream& stream) { sweep_points(stream); }, fields_, rank.pus(), work, submit);
}

}  // namespace voltpile
