#include "threebody/resolution.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>

#include "sweep/job_sources.h"
#include "threebody/methods.h"
#include "threebody/parameter_table.h"
#include "threebody/step_estimate.h"

namespace voltpile::threebody {
namespace {

// Rounding errors of n steps, each randomly up to half a unit in the last place, add up to about sqrt(n)
// units. If that exceeds this part of the twins' shift, rounding begins to determine their separation.
constexpr double tolerable_part = 0.01;
// Neighboring points closer than this many units in the last place begin to coincide.
constexpr double least_units_between_points = 4;

double largest(const ParameterSource& source) {
    return source.count > 0 ? std::max(std::abs(source.from), std::abs(source.to)) : std::abs(source.base);
}

double smallest(const ParameterSource& source) {
    if (source.count == 0) return std::abs(source.base);
    if (source.from * source.to <= 0) return 0;
    return std::min(std::abs(source.from), std::abs(source.to));
}

constexpr const char* finer =
    "; use integrate.precision = \"double-double\", with the center in system.position and sweeps of "
    "system.displacement around 0";

// Each warning has a place of its own; "": nothing to warn of.
std::vector<std::string> resolution_warnings(const Problem& problem) {
    const char* const precision = problem.single_precision ? "fp32"
                                  : problem.double_double  ? "double-double"
                                                           : "fp64";
    const double epsilon = problem.single_precision ? std::numeric_limits<float>::epsilon()
                           : problem.double_double  ? 0x1p-104
                                                    : std::numeric_limits<double>::epsilon();
    const ParameterSet<ParameterSource>& sources = problem.sources;
    std::vector<std::string> warnings(1);

    double extent = 0;  // of the system at the start: positions grow at least to this
    for (const auto& body : sources.position)
        for (const ParameterSource& component : body) extent = std::max(extent, largest(component));
    double shift = 0;
    for (const ParameterSource& component : sources.twin_shift)
        shift = std::hypot(shift, smallest(component));
    const double rounding = std::sqrt(static_cast<double>(problem.largest_steps)) * epsilon * extent;
    if (std::isfinite(problem.separation) && shift > 0 && rounding > tolerable_part * shift)
        warnings[0] = fmt::format(
            "system.twin_shift is as small as {:.3g}, and rounding in {} at positions of "
            "size {:.3g} adds up to about {:.1g} in {} steps: fine detail of the map will "
            "be rounding, not dynamics{}",
            shift, precision, extent, rounding, problem.largest_steps, problem.double_double ? "" : finer);

    // size: of the positions along the axis.
    const auto check_spacing = [&](const ParameterSource& component, double size) {
        std::string& warning = warnings.emplace_back();
        if (component.count < 2) return;
        const double spacing =
            std::abs(component.to - component.from) / static_cast<double>(component.intervals);
        if (spacing < least_units_between_points * epsilon * size)
            warning = fmt::format(
                "neighboring points of a sweep are {:.3g} apart at positions of size "
                "{:.3g}, where numbers in {} are {:.1g} apart: points will coincide{}",
                spacing, size, precision, epsilon * size, problem.double_double ? "" : finer);
    };
    for (const auto& body : sources.position)
        for (const ParameterSource& component : body) check_spacing(component, largest(component));
    for (int c = 0; c < 3; ++c) check_spacing(sources.displacement[c], largest(sources.position[0][c]));
    return warnings;
}

// The smaller the shift, the more steps the twins take to part, until none do in time.
std::string budget_warning(const Problem& problem, std::int64_t frames, std::int64_t frame_points) {
    if (frames == 1 || !std::isfinite(problem.separation)) return "";
    bool tried = true;
    const std::int64_t first = first_lost_frame(frames, [&](std::int64_t frame) {
        const std::optional<bool> any = any_pair_parts(problem, frame * frame_points, frame_points);
        tried = tried && any;
        return any && !*any;
    });
    if (first == frames && !tried)
        return "whether pairs of the last frames part within the job's steps was not tried: a sample would "
               "take "
               "too long";
    if (first == frames) return "";
    return fmt::format(
        "frames {} to {}: no pair of a sample parts within the job's steps: pictures will have "
        "one color; let integrate.steps{} grow {}",
        first, frames - 1, info(problem.method).adaptive ? " and integrate.max_steps" : "",
        varies(problem.sources.steps) ? "faster" : "with the frames");
}

}  // namespace

std::vector<std::string> frame_warnings(const Problem& problem, std::int64_t frames,
                                        std::int64_t frame_points) {
    std::vector<std::string> warnings = warnings_of_frames(frames, [&](std::int64_t frame) {
        Problem of_frame = problem;
        const ParameterSource& steps = problem.sources.steps;
        if (steps.frames != nullptr && steps.count == 0)
            of_frame.largest_steps = static_cast<std::int32_t>(steps.frames[2 * frame] + 0.5);
        keep_frame(std::span(as_array(of_frame.sources), parameter_count), frame);
        return resolution_warnings(of_frame);
    });
    if (std::string budget = budget_warning(problem, frames, frame_points); !budget.empty())
        warnings.push_back(std::move(budget));
    return warnings;
}

}  // namespace voltpile::threebody
