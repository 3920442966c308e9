#include "nbody/step_estimate.h"

#include <algorithm>
#include <cmath>

#include "nbody/cpu_targets.h"
#include "nbody/gpu_kernel.h"
#include "nbody/methods.h"
#include "nbody/outcome.h"

namespace voltpile::nbody {

namespace {

constexpr std::int64_t kMostPilots = 64;
constexpr double kMostPilotInstructions = 3e8;  // of all pilots together

// Adds up the steps of points spread over a job.
class Pilots : public PointStream {
  public:
    Pilots(const Problem& problem, std::int64_t points)
        : problem_(problem), points_(points), pilots_(std::min(points, kMostPilots)) {}

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

    void finish(const Ticket& ticket, const void* outcome) override {
        const auto& of = *static_cast<const Outcome*>(outcome);
        const double end = number_at(problem_, kDt, ticket.point) * step_count(problem_, ticket.point);
        const bool cut = of.status == static_cast<std::int32_t>(Status::MaxSteps) && of.final_time > 0;
        // A point that the pilots' budget ended goes on at the same rate.
        const double share = cut ? end / of.final_time : 1;
        steps_ += std::min(of.step_count * share, static_cast<double>(problem_.most_steps));
    }
    bool report(double) override { return true; }

    double mean_steps() {
        Problem pilot = problem_;
        const double budget =
            kMostPilotInstructions / (static_cast<double>(kMostPilots) * instructions_of(problem_));
        if (budget < pilot.most_steps) pilot.most_steps = std::max(1, static_cast<int>(budget));
        // The baseline has no fused operations, so its bits do not depend on the processor.
        cpu_sweep(CpuLevel::Baseline)(pilot, *this);
        return std::max(1.0, steps_ / static_cast<double>(pilots_));
    }

  private:
    const Problem& problem_;
    std::int64_t points_, pilots_;
    std::int64_t drawn_ = 0;
    double steps_ = 0;
};

}  // namespace

Workload workload_of(const Problem& problem, const std::vector<OutcomeField>& fields, std::int64_t points) {
    Workload workload;
    workload.unit = "steps";
    workload.units_per_point = Pilots(problem, points).mean_steps();
    workload.flop_per_unit = instructions_of(problem);
    // Lanes wait for the bodies of others (docs/benchmarks.md).
    workload.gpu_efficiency = 0.35;
    workload.gpu_state_bytes = static_cast<std::int64_t>(raw_bytes_per_point(problem.bodies));
    if (problem.table != nullptr)
        workload.gpu_table_bytes = points * problem.table_columns * static_cast<std::int64_t>(sizeof(double));
    workload.points = points;
    for (const OutcomeField& field : fields)
        workload.bytes_per_point += static_cast<std::int64_t>(field.spec.bytes_per_point());
    return workload;
}

}  // namespace voltpile::nbody
