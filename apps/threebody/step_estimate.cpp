#include "threebody/step_estimate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "threebody/cpu_targets.h"
#include "threebody/methods.h"
#include "threebody/outcome.h"

namespace voltpile::threebody {

namespace {

constexpr std::int64_t most_pilots = 128;
constexpr std::int32_t most_pilot_steps = 4000;
constexpr std::int64_t most_pilots_in_double_double = 16;
constexpr double least_pilot_tolerance = 1e-10;  // in double-double
constexpr std::size_t most_long_pilots = 16;
constexpr std::int32_t most_long_pilot_steps = 64000;

// Follows points for `budget` steps at most, adds up their steps and collects those left undecided.
class PilotStream : public PointStream {
  public:
    PilotStream(std::vector<std::int64_t> points, std::int32_t budget)
        : points_(std::move(points)), budget_(budget) {}

    bool draw(Ticket& ticket) override {
        if (drawn_ == points_.size()) return false;
        ticket.point = points_[drawn_++];
        return true;
    }
    void finish(const Ticket& ticket, const void* outcome) override {
        const std::int32_t steps = static_cast<const Outcome*>(outcome)->step_count;
        steps_ += steps;
        if (steps >= budget_) undecided_.push_back(ticket.point);
    }
    bool report(double) override { return true; }

    std::int32_t budget() const { return budget_; }
    double pilots() const { return static_cast<double>(points_.size()); }
    double steps() const { return static_cast<double>(steps_); }
    const std::vector<std::int64_t>& undecided() const { return undecided_; }

  private:
    std::vector<std::int64_t> points_;
    std::int32_t budget_;
    std::size_t drawn_ = 0;
    std::int64_t steps_ = 0;
    std::vector<std::int64_t> undecided_;
};

// Notices whether any pair parts before its steps are done.
class PartingStream : public PointStream {
  public:
    PartingStream(const Problem& problem, std::vector<std::int64_t> points)
        : steps_(problem.sources.steps), points_(std::move(points)) {}

    bool draw(Ticket& ticket) override {
        if (any_parted_ || drawn_ == points_.size()) return false;
        ticket.point = points_[drawn_++];
        return true;
    }
    void finish(const Ticket& ticket, const void* outcome) override {
        any_parted_ |=
            static_cast<const Outcome*>(outcome)->steps_together + 0.5 < value_at(steps_, ticket.point);
    }
    bool report(double) override { return true; }

    bool any_parted() const { return any_parted_; }

  private:
    ParameterSource steps_;
    std::vector<std::int64_t> points_;
    std::size_t drawn_ = 0;
    bool any_parted_ = false;
};

PilotStream follow(const Problem& problem, std::vector<std::int64_t> points, std::int32_t most_steps) {
    Problem pilot = problem;
    pilot.most_steps = std::min(problem.most_steps, most_steps);
    PilotStream stream(std::move(points), pilot.most_steps);
    // The baseline has no fused operations, so its bits do not depend on the processor.
    cpu_target(CpuLevel::Baseline).sweep(pilot, stream);
    return stream;
}

// Returns a point in each of equal parts of the sweep.
std::vector<std::int64_t> spread_points(std::int64_t points, std::int64_t most) {
    const std::int64_t pilots = std::min(points, most);
    const double part = static_cast<double>(points) / static_cast<double>(pilots);
    std::vector<std::int64_t> spread;
    for (std::int64_t i = 0; i < pilots; ++i) {
        // At another place in each part (Weyl's sequence), so that pilots do not form columns of a map.
        const double place = 0.61803398874989485 * static_cast<double>(i);
        spread.push_back(
            static_cast<std::int64_t>((static_cast<double>(i) + place - std::floor(place)) * part));
    }
    return spread;
}

// Returns at most `count` of the points, evenly spaced.
std::vector<std::int64_t> some_of(const std::vector<std::int64_t>& points, std::size_t count) {
    std::vector<std::int64_t> some;
    const std::size_t taken = std::min(points.size(), count);
    for (std::size_t i = 0; i < taken; ++i) some.push_back(points[i * points.size() / taken]);
    return some;
}

// Returns the mean steps of the pilots up to the job's own budget. steps_before: of each of them, not counted
// in the rate at which they end.
double mean_steps(const PilotStream& pilots, std::int32_t steps_before, std::int32_t budget) {
    const double mean = pilots.steps() / pilots.pilots();
    const auto left = static_cast<double>(pilots.undecided().size());
    if (left == 0 || pilots.budget() == budget) return mean;
    // The mean of an exponential distribution from a censored sample.
    const double rest =
        (pilots.steps() - pilots.pilots() * steps_before) / std::max(1.0, pilots.pilots() - left);
    return mean + left / pilots.pilots() * rest * -std::expm1(-(budget - pilots.budget()) / rest);
}

// A step in double-double takes twenty times as long, and tolerances are far smaller. So a few pilots have a
// larger tolerance; the error of a step that the method controls, of order 7, says how many more steps the
// job's takes.
double steps_in_double_double(const Problem& problem, std::int64_t points) {
    Problem looser = problem;
    looser.tolerance = std::max(problem.tolerance, least_pilot_tolerance);
    const PilotStream pilots =
        follow(looser, spread_points(points, most_pilots_in_double_double), most_pilot_steps);
    const double more = std::pow(looser.tolerance / problem.tolerance, 1.0 / 7);
    const double steps = more * mean_steps(pilots, 0, std::numeric_limits<std::int32_t>::max());
    return std::clamp(steps, 1.0, static_cast<double>(problem.most_steps));
}

// Follows as many pairs as there is time for, of all frames, and takes from them which share of its steps a
// pair needs: this share changes less from frame to frame than the steps do.
double fixed_steps_of_frames(const Problem& problem, std::int64_t points) {
    constexpr double most_instructions = 3e9;
    constexpr double fewest_pilots = 16;
    const ParameterSource& steps = problem.sources.steps;
    const auto all_steps = [&](const std::vector<std::int64_t>& spread) {
        double all = 0;
        for (const std::int64_t point : spread) all += value_at(steps, point);
        return all;
    };
    const std::vector<std::int64_t> many = spread_points(points, 4096);
    const double mean = all_steps(many) / static_cast<double>(many.size());
    const double pilots =
        std::min<double>(most_pilots, most_instructions / (mean * instructions_of(problem)));
    if (pilots < fewest_pilots) return mean;
    const std::vector<std::int64_t> spread = spread_points(points, static_cast<std::int64_t>(pilots));
    return std::max(1.0, mean * follow(problem, spread, most_pilot_steps).steps() / all_steps(spread));
}

}  // namespace

double estimated_steps(const Problem& problem, std::int64_t points) {
    if (problem.double_double) return steps_in_double_double(problem, points);
    const PilotStream pilots = follow(problem, spread_points(points, most_pilots), most_pilot_steps);
    const auto left = static_cast<double>(pilots.undecided().size());
    if (left == 0 || pilots.budget() == problem.most_steps)
        return std::max(1.0, pilots.steps() / pilots.pilots());
    const PilotStream further =
        follow(problem, some_of(pilots.undecided(), most_long_pilots), most_long_pilot_steps);
    const double decided_steps = pilots.steps() - left * pilots.budget();
    return (decided_steps + left * mean_steps(further, pilots.budget(), problem.most_steps)) /
           pilots.pilots();
}

double estimated_fixed_steps(const Problem& problem, std::int64_t points) {
    if (problem.frame_numbers_count > 0) return fixed_steps_of_frames(problem, points);
    constexpr double most_instructions = 1.5e9;  // of all pairs; a core does at least 5e9 a second
    std::vector<std::int64_t> spread = spread_points(points, most_pilots);
    if (static_cast<double>(spread.size()) * problem.largest_steps * instructions_of(problem) >
        most_instructions)
        return problem.largest_steps;
    const PilotStream pilots = follow(problem, std::move(spread), most_pilot_steps);
    return std::clamp(pilots.steps() / pilots.pilots(), 1.0, static_cast<double>(problem.largest_steps));
}

std::optional<bool> any_pair_parts(const Problem& problem, std::int64_t begin, std::int64_t points) {
    constexpr double most_pilots_of_frame = 32, fewest_pilots_of_frame = 8;
    constexpr double most_instructions = 1.2e9;
    const ParameterSource& steps = problem.sources.steps;
    const double budget = info(problem.method).adaptive ? problem.most_steps
                          : steps.frames != nullptr     ? value_at(steps, begin)
                                                        : problem.largest_steps;
    const double pilots = most_instructions / (budget * instructions_of(problem));
    if (pilots < fewest_pilots_of_frame) return std::nullopt;
    std::vector<std::int64_t> spread =
        spread_points(points, static_cast<std::int64_t>(std::min(pilots, most_pilots_of_frame)));
    for (std::int64_t& point : spread) point += begin;
    PartingStream stream(problem, std::move(spread));
    cpu_target(cpu_level()).sweep(problem, stream);
    return stream.any_parted();
}

}  // namespace voltpile::threebody
