#include "ode/ode_app.h"

#include "ode/cpu_targets.h"
#include "ode/step_estimate.h"
#if VOLTPILE_CUDA
#include "ode/gpu_program.h"
#endif

namespace voltpile {

OdeApp::OdeApp(const JobSpec& job) : SweepApp(Processors::GpusAndCores), problem_(job) {
    set_outcome_fields(ode::fields_of(problem_));
    workload_ = ode::workload_of(problem_.problem(), outcome_fields(), job.point_count());
}

void OdeApp::sweep_points(PointStream& stream) const {
    ode::sweep_on_this_thread(cpu_level(), problem_.problem(), stream);
}

std::unique_ptr<GpuProgram> OdeApp::gpu_program() const {
#if VOLTPILE_CUDA
    return ode::make_gpu_program(problem_.problem());
#else
    return nullptr;
#endif
}

std::unique_ptr<App> make_ode(const JobSpec& job) {
    return std::make_unique<OdeApp>(job);
}

}  // namespace voltpile
