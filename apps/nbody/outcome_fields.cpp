#include "nbody/outcome_fields.h"

#include <fmt/format.h>

#include <cstddef>
#include <stdexcept>

namespace voltpile::nbody {

namespace {

struct FieldRow {
    Field field;
    FieldType type;
    const char* long_name;
    const char* help;  // a clause for the table of keys
    bool of_twin = false;
    bool of_deviation = false;
};

constexpr FieldRow kRows[] = {
    {Field::status, FieldType::Int32, "why the point ended",
     "why the point ended: end (the time dt * steps was reached), collision, escape, max_steps, "
     "step_too_small (an adaptive method cannot meet its tolerance, as where bodies meet), not_finite (a "
     "coordinate would be infinite or not a number) or parted (stop.separation). The other fields describe "
     "the last finite state"},
    {Field::final_time, FieldType::Float64, "time of the last state",
     "the time of that state: of the collision or escape if there was one"},
    {Field::final_state, FieldType::Float64, "positions and velocities in the last state",
     "positions and velocities"},
    {Field::energy_error, FieldType::Float64, "relative error of the energy in the last state",
     "|E - E0| / |E0|, the relative error of the total energy; |E - E0| where E0 is 0"},
    {Field::angular_momentum_error, FieldType::Float64, "error of the angular momentum in the last state",
     "|L - L0| / sum of m |r| |v|, the error of the total angular momentum relative to the largest that "
     "bodies at these distances and speeds can have: about the center of mass, or about the origin if there "
     "is a potential"},
    {Field::closest_approach, FieldType::Float64, "smallest distance of any two bodies",
     "the smallest distance of two bodies: after the steps, and with an adaptive method also within them"},
    {Field::closest_time, FieldType::Float64, "time of the closest approach", "when that was"},
    {Field::closest_pair, FieldType::Int32, "the two bodies of the closest approach", "which two"},
    {Field::escaper, FieldType::Int32, "the body that escapes",
     "the body that has escaped, or none; see stop.escape_distance"},
    {Field::step_count, FieldType::Int32, "steps of the integrator, rejected ones included",
     "steps done, of an adaptive method also the rejected ones"},
    {Field::steps_together, FieldType::Int32, "steps until the twins are further apart than the limit",
     "the first step at whose start the twins have parted, else the steps until the point ended; needs "
     "stop.separation",
     true},
    {Field::time_together, FieldType::Float64, "time until the twins are further apart than the limit",
     "the time at which the twins part, else the time at which the point ended; needs stop.separation", true},
    {Field::lyapunov_exponent, FieldType::Float64, "largest Lyapunov exponent",
     "the mean rate at which a small deviation grows, per unit of time; needs system.twin_shift, and is "
     "computed on CPU cores. Not a number where a point ended at its start",
     false, true},
    {Field::megno, FieldType::Float64,
     "mean exponential growth factor of nearby orbits (MEGNO), averaged over time",
     "near 2 where the motion is regular, and growing with time where it is chaotic; as lyapunov_exponent",
     false, true},
};

struct Member {
    const char* name;
    std::size_t offset;
};

constexpr Member kMembers[] = {
#define VOLTPILE_MEMBER(member) {#member, offsetof(Outcome, member)},
    VOLTPILE_NBODY_FIELDS(VOLTPILE_MEMBER)
#undef VOLTPILE_MEMBER
};

const Member& member_of(const FieldRow& row) {
    return kMembers[static_cast<int>(row.field)];
}

const FieldRow& row_named(std::string_view name) {
    for (const FieldRow& row : kRows) {
        if (member_of(row).name == name) return row;
    }
    throw std::logic_error("nbody has no field " + std::string(name));
}

}  // namespace

std::vector<std::string> field_names() {
    std::vector<std::string> names;
    for (const Member& member : kMembers) names.emplace_back(member.name);
    return names;
}

std::string fields_help() {
    std::string help = "The fields of the result at each point.";
    for (const FieldRow& row : kRows) help += fmt::format(" {}: {}.", member_of(row).name, row.help);
    return help;
}

bool is_of_twin(std::string_view name) {
    return row_named(name).of_twin;
}

bool is_of_deviation(std::string_view name) {
    return row_named(name).of_deviation;
}

OutcomeField outcome_field(std::string_view name, int bodies, bool twin) {
    const FieldRow& row = row_named(name);
    OutcomeField field;
    field.number = static_cast<int>(row.field);
    field.offset = member_of(row).offset;
    field.spec.name = name;
    field.spec.type = row.type;
    field.spec.unit = "1";
    field.spec.long_name = row.long_name;
    if (row.field == Field::status)
        field.spec.labels = {"end", "collision", "escape", "max_steps", "step_too_small", "not_finite"};
    if (row.field == Field::status && twin) field.spec.labels.emplace_back("parted");
    if (row.field == Field::escaper) field.spec.labels = {"none"};
    FieldDimension body{"body", {}};
    for (int i = 1; i <= bodies; ++i) {
        body.labels.push_back(fmt::format("{}", i));
        if (row.field == Field::escaper) field.spec.labels.push_back(fmt::format("body_{}", i));
        for (int j = i + 1; j <= bodies; ++j)
            if (row.field == Field::closest_pair) field.spec.labels.push_back(fmt::format("{}-{}", i, j));
    }
    if (row.field == Field::final_state)
        field.spec.dimensions = {body, {"component", {"x", "y", "z", "vx", "vy", "vz"}}};
    return field;
}

}  // namespace voltpile::nbody
