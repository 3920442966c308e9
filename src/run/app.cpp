#include "run/app.h"

#include <stdexcept>

namespace voltpile {

ResultLayout App::layout(const JobSpec& job) const {
    return make_layout(job, fields());
}

std::unique_ptr<App> App::reference(const JobSpec&, std::vector<std::int64_t>) const {
    throw std::logic_error("this app has no reference");
}

Plan PlannedApp::plan(const PlanOptions& options, const Topology& topology) {
    return make_plan(workload(), options, topology);
}

}  // namespace voltpile
