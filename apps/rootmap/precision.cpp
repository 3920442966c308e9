#include "rootmap/precision.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <string_view>

#include "rootmap/iteration_estimate.h"
#include "rootmap/methods.h"
#include "rootmap/parameter_table.h"
#include "sweep/job_sources.h"

namespace voltpile::rootmap {
namespace {

const char* name_of(Precision precision) {
    return precision == Precision::Fp32 ? "fp32" : precision == Precision::Fp64 ? "fp64" : "double-double";
}

double epsilon_of(Precision precision) {
    if (precision == Precision::Fp32) return std::numeric_limits<float>::epsilon();
    return precision == Precision::Fp64 ? std::numeric_limits<double>::epsilon() : 0x1p-104;
}

// Each warning has a place of its own; "": nothing to warn of.
std::vector<std::string> precision_warnings(const Problem& problem) {
    // Points of a map are about this large, and rounding at this size is what blurs the picture.
    constexpr double usual_size = 1;
    constexpr double least_units_between_points = 16;
    const double epsilon = epsilon_of(problem.precision);
    const char* const better = problem.method == Method::Mandelbrot   ? "perturbation"
                               : problem.precision == Precision::Fp32 ? "fp64"
                                                                      : "double-double";
    std::vector<std::string> warnings(parameter_count + 1);
    if (problem.precision == Precision::Perturbation) return warnings;  // axes are relative to the center
    const auto* sources = reinterpret_cast<const ParameterSource*>(&problem.sources);
    for (int i = 0; i < parameter_count; ++i) {
        const ParameterSource& source = sources[i];
        if (source.count < 2) continue;
        const double size = std::max({std::abs(source.from), std::abs(source.to), usual_size});
        const double spacing = std::abs(source.to - source.from) / static_cast<double>(source.intervals);
        if (spacing >= least_units_between_points * epsilon * size) continue;
        warnings[static_cast<std::size_t>(i)] = fmt::format(
            "neighboring points of a sweep are {:.3g} apart at numbers of size {:.3g}, where {} rounds by "
            "{:.1g}: the picture will show rounding{}",
            spacing, size, name_of(problem.precision), epsilon * size,
            better == std::string_view(name_of(problem.precision))
                ? std::string()
                : fmt::format("; use iterate.precision = \"{}\"", better));
    }
    const Kind kind = info(problem.method).kind;
    if (kind != Kind::Escape && problem.tolerance < 4 * epsilon)
        warnings[parameter_count] = fmt::format(
            "iterate.tolerance = {:g} is below what {} can tell apart at 1: many points will "
            "never get that close",
            problem.tolerance, name_of(problem.precision));
    return warnings;
}

// Nearby points take the longer to part from the set the deeper a zoom is, until none does in time.
std::string budget_warning(const Problem& problem, std::int64_t frames, std::int64_t frame_points) {
    if (frames == 1 || info(problem.method).kind == Kind::Attractor) return "";
    bool tried = true;
    const std::int64_t first = first_lost_frame(frames, [&](std::int64_t frame) {
        const std::optional<bool> any = any_point_ends(problem, frame * frame_points, frame_points);
        tried = tried && any;
        return any && !*any;
    });
    if (first == frames && !tried)
        return fmt::format(
            "whether points of the last frames end within iterate.max_iterations = {} was not tried: a "
            "sample "
            "would take too long",
            problem.max_iterations);
    if (first == frames) return "";
    return fmt::format(
        "frames {} to {}: no point of a sample ends within iterate.max_iterations = {}: pictures will have "
        "one color; raise iterate.max_iterations",
        first, frames - 1, problem.max_iterations);
}

}  // namespace

std::vector<std::string> frame_warnings(const Problem& problem, std::int64_t frames,
                                        std::int64_t frame_points) {
    std::vector<std::string> warnings = warnings_of_frames(frames, [&](std::int64_t frame) {
        Problem of_frame = problem;
        keep_frame(std::span(as_array(of_frame.sources), parameter_count), frame);
        return precision_warnings(of_frame);
    });
    if (std::string budget = budget_warning(problem, frames, frame_points); !budget.empty())
        warnings.push_back(std::move(budget));
    return warnings;
}

}  // namespace voltpile::rootmap
