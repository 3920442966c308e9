#include "run/app.h"

namespace voltpile {

ResultLayout App::layout(const JobSpec& job) const {
    return make_layout(job, fields());
}

Plan PlannedApp::plan(const PlanOptions& options, const Topology& topology) {
    return make_plan(workload(), options, topology);
}

}  // namespace voltpile
