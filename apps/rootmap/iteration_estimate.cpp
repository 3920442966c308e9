#include "rootmap/iteration_estimate.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "rootmap/cpu_targets.h"
#include "rootmap/gpu_kernel.h"
#include "rootmap/methods.h"
#include "rootmap/outcome.h"

namespace voltpile::rootmap {

namespace {

constexpr std::int64_t kFirstPilots = 256;
constexpr std::int64_t kMostPilots = 16384;
constexpr double kMostPilotInstructions = 3e8;  // of all pilots together

// Adds up the iterations of points spread over a sweep.
class PilotPoints : public PointStream {
  public:
    PilotPoints(std::int64_t begin, std::int64_t points, std::int64_t most)
        : begin_(begin), points_(points), pilots_(std::min(points, most)) {}

    bool draw(Ticket& ticket) override {
        if (drawn_ == pilots_) return false;
        const double part = static_cast<double>(points_) / static_cast<double>(pilots_);
        // At another place in each part (Weyl's sequence), so that pilots do not form columns of a map.
        const double place = 0.61803398874989485 * static_cast<double>(drawn_);
        ticket.point = begin_ + static_cast<std::int64_t>(
                                    (static_cast<double>(drawn_) + place - std::floor(place)) * part);
        ++drawn_;
        return true;
    }
    void finish(const Ticket&, const void* outcome) override {
        const auto& of = *static_cast<const Outcome*>(outcome);
        if (of.quality == static_cast<std::int32_t>(Quality::Stopped))
            ++stopped_;
        else
            iterations_ += of.iterations;
    }
    bool report(double) override { return true; }

    bool any_decided() const { return stopped_ < drawn_; }

    // Points that are undecided go on to the end: most of them never end.
    double mean_iterations(std::int32_t max_iterations) const {
        return (static_cast<double>(iterations_) + static_cast<double>(stopped_) * max_iterations) /
               static_cast<double>(pilots_);
    }
    std::int64_t pilots() const { return pilots_; }

  private:
    std::int64_t begin_, points_, pilots_;
    std::int64_t drawn_ = 0, stopped_ = 0, iterations_ = 0;
};

double mean_iterations(const Problem& problem, std::int64_t points) {
    Problem pilot = problem;
    const double most_iterations = kMostPilotInstructions / instructions_of(problem);
    if (most_iterations / kFirstPilots < pilot.max_iterations)
        pilot.max_iterations = static_cast<std::int32_t>(most_iterations / kFirstPilots);
    // The baseline has no fused operations, so its bits do not depend on the processor.
    const auto followed = [&](std::int64_t most) {
        PilotPoints pilots(0, points, most);
        cpu_sweep(CpuLevel::Baseline)(pilot, pilots);
        return pilots;
    };
    const PilotPoints first = followed(kFirstPilots);
    // Of a map where few points take most of the iterations, a few hundred points would miss the mean by a
    // tenth. As many as the budget allows follow the first ones.
    const double affordable = most_iterations / std::max(1.0, first.mean_iterations(pilot.max_iterations));
    const std::int64_t more = std::min(kMostPilots, static_cast<std::int64_t>(affordable));
    const PilotPoints pilots = more > 2 * first.pilots() ? followed(more) : first;
    return std::max(1.0, pilots.mean_iterations(problem.max_iterations));
}

// What drawing, starting and completing a point costs, by docs/benchmarks.md: as much as tens of iterations.
double core_seconds_per_point(Method method) {
    constexpr double of_root = 1.45e-7, of_escape = 0.95e-7;
    return info(method).kind == Kind::Escape ? of_escape : of_root;
}

}  // namespace

Workload workload_of(const Problem& problem, const std::vector<OutcomeField>& fields, std::int64_t points) {
    Workload workload;
    workload.unit = "iterations";
    workload.units_per_point = mean_iterations(problem, points);
    workload.flop_per_unit = instructions_of(problem);
    workload.core_cycles_per_unit = core_cycles_of(problem);
    workload.core_seconds_per_point = core_seconds_per_point(problem.method);
    workload.fp64 = problem.precision != Precision::Fp32;
    workload.points = points;
    workload.gpu_state_bytes = static_cast<std::int64_t>(raw_bytes_per_point(problem.precision));
    for (const OutcomeField& field : fields)
        workload.bytes_per_point += static_cast<std::int64_t>(field.spec.bytes_per_point());
    return workload;
}

std::optional<bool> any_point_ends(const Problem& problem, std::int64_t begin, std::int64_t points) {
    constexpr std::int64_t pilots_of_frame = 64;
    const double instructions =
        static_cast<double>(pilots_of_frame) * problem.max_iterations * instructions_of(problem);
    if (instructions > kMostPilotInstructions) return std::nullopt;
    PilotPoints pilots(begin, points, pilots_of_frame);
    cpu_sweep(CpuLevel::Baseline)(problem, pilots);
    return pilots.any_decided();
}

}  // namespace voltpile::rootmap
