#include "results/result_layout.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <stdexcept>

#include "base/error.h"
#include "job/fingerprint.h"

namespace voltpile {
namespace {

// Axes, dimensions and fields are datasets of one file, so no two may have the same name.
void check_names(const ResultLayout& layout) {
    std::map<std::string, std::string> taken{{"check", "a group of the result"},
                                             {"telemetry", "a group of the result"},
                                             {"plan", "a group of the result"}};
    auto take = [&](const std::string& name, const std::string& what) {
        auto [it, is_new] = taken.emplace(name, what);
        if (!is_new) {
            throw JobError(layout.job_path + ": the name \"" + name + "\" of " + what +
                           " is already that of " + it->second + ": rename the sweep axis");
        }
    };
    for (const SweepAxis& axis : layout.axes) take(axis.name, "a sweep axis");
    for (const FrameTrack& track : layout.frame_tracks()) take(track.name, "a number of the frames");
    std::map<std::string, FieldDimension> dimensions;
    for (const FieldSpec& field : layout.fields) {
        take(field.name, "a field");
        for (const FieldDimension& dimension : field.dimensions) {
            auto [it, is_new] = dimensions.emplace(dimension.name, dimension);
            if (is_new) take(dimension.name, "a dimension of the field " + field.name);
            if (!(it->second == dimension)) {
                throw std::logic_error("two fields disagree on the dimension " + dimension.name);
            }
        }
    }
}

ResultLayout plain_layout(const JobSpec& job, std::vector<FieldSpec> fields) {
    ResultLayout layout;
    layout.app = job.app();
    layout.job_path = job.path();
    layout.job_text = job.text();
    layout.job_overrides = job.overrides();
    layout.fingerprint = job.fingerprint();
    layout.axes = job.axes();
    layout.frame_changes = job.frame_changes();
    layout.fields = std::move(fields);
    return layout;
}

FieldSpec level_field(const Refinement& refinement) {
    FieldSpec field;
    field.name = level_field_name;
    field.type = FieldType::Int32;
    field.unit = "1";
    field.long_name = fmt::format("level of the grid that the values come from: points 2^({} - level) apart",
                                  refinement.levels);
    return field;
}

}  // namespace

std::int64_t ResultLayout::point_count() const {
    std::int64_t count = 1;
    for (const SweepAxis& axis : axes) count *= axis.count;
    return count;
}

std::int64_t ResultLayout::bytes_per_point() const {
    std::size_t bytes = 0;
    for (const FieldSpec& field : fields) bytes += field.bytes_per_point();
    return static_cast<std::int64_t>(bytes);
}

ResultLayout ResultLayout::in_frame(std::int64_t frame) const {
    ResultLayout layout = *this;
    for (SweepAxis& axis : layout.axes) axis = axis.in_frame(frame);
    return layout;
}

std::vector<FrameTrack> ResultLayout::frame_tracks() const {
    std::vector<FrameTrack> tracks;
    const SweepAxis* const along = frame_axis(axes);
    for (const FrameChange& change : frame_changes) {
        FrameTrack from{change.name, change.parameter, change.unit, {}}, to = from;
        for (std::int64_t k = 0; along && k < along->count; ++k) {
            const FrameRange range = change.at(k);
            from.values.push_back(range.from);
            to.values.push_back(range.to);
        }
        if (change.swept) {
            from.name += "_from", to.name += "_to";
            from.long_name += " at the beginning of the axis", to.long_name += " at its end";
        }
        tracks.push_back(std::move(from));
        if (change.swept) tracks.push_back(std::move(to));
    }
    return tracks;
}

ResultLayout make_layout(const JobSpec& job, std::vector<FieldSpec> fields) {
    ResultLayout layout = plain_layout(job, std::move(fields));
    layout.refinement = job.refinement();
    if (layout.refinement) layout.fields.push_back(level_field(*layout.refinement));
    check_names(layout);
    return layout;
}

void check_refinement(const JobSpec& job, const std::vector<FieldSpec>& fields) {
    const std::optional<Refinement>& refinement = job.refinement();
    if (!refinement) return;
    std::vector<std::string> names;
    for (const FieldSpec& field : fields)
        if (!field.variable() && field.values_per_point() == 1) names.push_back(field.name);
    if (std::ranges::find(names, refinement->field) != names.end()) return;
    const bool is_field = std::ranges::find(fields, refinement->field, &FieldSpec::name) != fields.end();
    throw JobError(fmt::format(
        "{}: refine.field = \"{}\": {}", refinement->place, refinement->field,
        is_field ? "this field has several numbers at a point; choose one with a single number"
        : names.empty()
            ? "the job has no field with one number at each point"
            : fmt::format("the job has no such field; its fields with one number at each point: {}",
                          fmt::join(names, ", "))));
}

ResultLayout make_layout(const JobSpec& job, std::vector<FieldSpec> fields, std::vector<SweepAxis> axes,
                         std::vector<JobInput> inputs) {
    ResultLayout layout = plain_layout(job, std::move(fields));
    layout.axes = std::move(axes);
    layout.frame_changes.clear();
    layout.inputs = std::move(inputs);
    std::string text = job.fingerprint();
    for (const JobInput& input : layout.inputs) text += fmt::format("\ninput {}", input.fingerprint);
    layout.fingerprint = hash_128(text);
    check_names(layout);
    return layout;
}

std::string changed_inputs_text(const ResultLayout& now, const std::vector<JobInput>& before) {
    std::vector<std::string> changes;
    for (const JobInput& input : now.inputs) {
        const auto same_name = [&](const JobInput& other) { return other.name == input.name; };
        const auto found = std::ranges::find_if(before, same_name);
        if (found != before.end() && found->fingerprint != input.fingerprint)
            changes.push_back(fmt::format("{} is not what it was (fingerprint {}, then {})", input.name,
                                          input.fingerprint, found->fingerprint));
    }
    return fmt::format("{}", fmt::join(changes, "; "));
}

}  // namespace voltpile
