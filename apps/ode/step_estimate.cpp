#include "ode/step_estimate.h"

#include <algorithm>
#include <cmath>

#include "ode/cpu_targets.h"
#include "ode/outcome.h"

namespace voltpile::ode {

namespace {

constexpr std::int64_t kMostPilots = kBlockLanes;
constexpr double kMostPilotOperations = 2e8;  // of all pilots together

// Adds up the steps of points spread over a sweep.
class StepPilots : public PointStream {
  public:
    explicit StepPilots(std::int64_t points) : points_(points), pilots_(std::min(points, kMostPilots)) {}

    bool draw(Ticket& ticket) override {
        if (drawn_ == pilots_) return false;
        const double part = static_cast<double>(points_) / static_cast<double>(pilots_);
        // At another place in each part (Weyl's sequence), so that pilots do not form columns of a map.
        const double place = 0.61803398874989485 * static_cast<double>(drawn_);
        ticket.point =
            static_cast<std::int64_t>((static_cast<double>(drawn_) + place - std::floor(place)) * part);
        ++drawn_;
        return true;
    }

    void finish(const Ticket&, const void* outcome) override {
        const auto& of = *static_cast<const Outcome*>(outcome);
        const bool cut = of.status == static_cast<std::int32_t>(Status::MaxSteps) && of.t_final > begin_;
        // A point that the pilots' budget ended goes on at the same rate.
        const double share = cut ? (end_ - begin_) / (of.t_final - begin_) : 1;
        steps_ += std::min(of.steps * share, most_steps_);
    }
    bool report(double) override { return true; }

    double mean_steps(const Problem& problem) {
        begin_ = problem.t_begin;
        end_ = problem.t_end;
        most_steps_ = problem.max_steps;
        Problem pilot = problem;
        const double budget = kMostPilotOperations / (kMostPilots * problem.operations_per_step);
        pilot.max_steps = std::max(1.0, std::min(problem.max_steps, std::floor(budget)));
        sweep_on_this_thread(CpuLevel::Baseline, pilot, *this);
        return std::max(1.0, steps_ / static_cast<double>(pilots_));
    }

  private:
    std::int64_t points_, pilots_;
    std::int64_t drawn_ = 0;
    double begin_ = 0, end_ = 0, most_steps_ = 0, steps_ = 0;
};

}  // namespace

Workload workload_of(const Problem& problem, const std::vector<OutcomeField>& fields, std::int64_t points) {
    Workload workload;
    workload.unit = "steps";
    workload.units_per_point = StepPilots(points).mean_steps(problem);
    workload.flop_per_unit = problem.operations_per_step;
    workload.points = points;
    workload.gpu_state_bytes = 0;  // everything is in registers
    for (const OutcomeField& field : fields)
        workload.bytes_per_point += static_cast<std::int64_t>(field.spec.bytes_per_point());
    return workload;
}

}  // namespace voltpile::ode
