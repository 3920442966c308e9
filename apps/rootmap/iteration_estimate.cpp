#include "rootmap/iteration_estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "rootmap/cpu_targets.h"
#include "rootmap/methods.h"
#include "rootmap/outcome.h"

namespace voltpile::rootmap {

namespace {

constexpr std::int64_t most_pilots = 256;
constexpr double most_pilot_instructions = 3e8;  // of all pilots together

// Adds up the iterations of points spread over a sweep.
class PilotPoints : public PointStream {
  public:
    explicit PilotPoints(std::int64_t points) : points_(points), pilots_(std::min(points, most_pilots)) {}

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
        if (of.quality == static_cast<std::int32_t>(Quality::Stopped))
            ++stopped_;
        else
            iterations_ += of.iterations;
    }
    bool report(double) override { return true; }

    // Points that are undecided go on to the end: most of them never end.
    double mean_iterations(std::int32_t max_iterations) const {
        return (static_cast<double>(iterations_) + static_cast<double>(stopped_) * max_iterations) /
               static_cast<double>(pilots_);
    }

  private:
    std::int64_t points_, pilots_;
    std::int64_t drawn_ = 0, stopped_ = 0, iterations_ = 0;
};

double mean_iterations(const Problem& problem, std::int64_t points) {
    Problem pilot = problem;
    const double budget = most_pilot_instructions / (most_pilots * instructions_of(problem));
    if (budget < pilot.max_iterations) pilot.max_iterations = static_cast<std::int32_t>(budget);
    PilotPoints pilots(points);
    // The baseline has no fused operations, so its bits do not depend on the processor.
    cpu_sweep(CpuLevel::Baseline)(pilot, pilots);
    return std::max(1.0, pilots.mean_iterations(problem.max_iterations));
}

const char* name_of(Precision precision) {
    return precision == Precision::Fp32 ? "fp32" : precision == Precision::Fp64 ? "fp64" : "double-double";
}

double epsilon_of(Precision precision) {
    if (precision == Precision::Fp32) return std::numeric_limits<float>::epsilon();
    return precision == Precision::Fp64 ? std::numeric_limits<double>::epsilon() : 0x1p-104;
}

}  // namespace

Workload workload_of(const Problem& problem, const std::vector<OutcomeField>& fields, std::int64_t points) {
    Workload workload;
    workload.unit = "iterations";
    workload.units_per_point = mean_iterations(problem, points);
    workload.flop_per_unit = instructions_of(problem);
    workload.fp64 = problem.precision != Precision::Fp32;
    workload.points = points;
    for (const OutcomeField& field : fields)
        workload.bytes_per_point += static_cast<std::int64_t>(field.spec.bytes_per_point());
    return workload;
}

std::vector<std::string> precision_warnings(const Problem& problem) {
    // Points of a map are about this large, and rounding at this size is what blurs the picture.
    constexpr double usual_size = 1;
    constexpr double least_units_between_points = 16;
    const double epsilon = epsilon_of(problem.precision);
    const char* const better = problem.method == Method::Mandelbrot   ? "perturbation"
                               : problem.precision == Precision::Fp32 ? "fp64"
                                                                      : "double-double";
    std::vector<std::string> warnings;
    if (problem.precision == Precision::Perturbation) return warnings;  // axes are relative to the center
    const auto* sources = reinterpret_cast<const ParameterSource*>(&problem.sources);
    for (int i = 0; i < parameter_count; ++i) {
        const ParameterSource& source = sources[i];
        if (source.count < 2) continue;
        const double size = std::max({std::abs(source.from), std::abs(source.to), usual_size});
        const double spacing = std::abs(source.to - source.from) / static_cast<double>(source.intervals);
        if (spacing >= least_units_between_points * epsilon * size) continue;
        warnings.push_back(fmt::format(
            "neighboring points of a sweep are {:.3g} apart at numbers of size {:.3g}, where {} rounds by "
            "{:.1g}: the picture will show rounding{}",
            spacing, size, name_of(problem.precision), epsilon * size,
            better == std::string_view(name_of(problem.precision))
                ? std::string()
                : fmt::format("; use iterate.precision = \"{}\"", better)));
    }
    const Kind kind = info(problem.method).kind;
    if (kind != Kind::Escape && problem.tolerance < 4 * epsilon)
        warnings.push_back(
            fmt::format("iterate.tolerance = {:g} is below what {} can tell apart at 1: many points will "
                        "never get that close",
                        problem.tolerance, name_of(problem.precision)));
    return warnings;
}

}  // namespace voltpile::rootmap
