#include "threebody/step_estimate.h"

#include <algorithm>
#include <cmath>

#include "threebody/cpu_targets.h"
#include "threebody/outcome.h"

namespace voltpile::threebody {

namespace {

constexpr std::int64_t most_pilots = 128;
constexpr std::int32_t most_pilot_steps = 4000;

// Hands out a point in each of equal parts of the sweep, and adds up their steps.
class PilotStream : public PointStream {
  public:
    PilotStream(std::int64_t points, std::int32_t budget)
        : points_(points), pilots_(std::min(points, most_pilots)), budget_(budget) {}

    bool draw(Ticket& ticket) override {
        if (drawn_ == pilots_) return false;
        // At another place in each part (Weyl's sequence), so that pilots do not form columns of a map.
        const double place = 0.61803398874989485 * static_cast<double>(drawn_);
        const double part = static_cast<double>(points_) / static_cast<double>(pilots_);
        ticket.point =
            static_cast<std::int64_t>((static_cast<double>(drawn_) + place - std::floor(place)) * part);
        ++drawn_;
        return true;
    }
    void finish(const Ticket&, const void* outcome) override {
        const std::int32_t steps = static_cast<const Outcome*>(outcome)->step_count;
        steps_ += steps;
        if (steps < budget_) ++decided_;
    }
    bool report(double) override { return true; }

    double steps() const { return static_cast<double>(steps_); }
    std::int64_t pilots() const { return pilots_; }
    std::int64_t decided() const { return decided_; }  // pilots that ended within their budget

  private:
    std::int64_t points_;
    std::int64_t pilots_;
    std::int32_t budget_;
    std::int64_t drawn_ = 0;
    std::int64_t decided_ = 0;
    std::int64_t steps_ = 0;
};

}  // namespace

double estimated_steps(const Problem& problem, std::int64_t points) {
    Problem pilot = problem;
    pilot.most_steps = std::min(problem.most_steps, most_pilot_steps);
    PilotStream stream(points, pilot.most_steps);
    // The baseline has no fused operations, so its bits do not depend on the processor.
    cpu_target(CpuLevel::Baseline).sweep(pilot, stream);
    if (stream.decided() == stream.pilots() || pilot.most_steps == problem.most_steps)
        return std::max(1.0, stream.steps() / static_cast<double>(stream.pilots()));
    // Steps until a pair is decided, if those left undecided end at the rate of the others: an exponential
    // distribution's mean from a censored sample, then with the job's own budget.
    const double mean = stream.steps() / std::max(1.0, static_cast<double>(stream.decided()));
    return mean * -std::expm1(-problem.most_steps / mean);
}

}  // namespace voltpile::threebody
