#include "threebody/outcome_fields.h"

#include <fmt/format.h>

#include <cstddef>
#include <stdexcept>

namespace voltpile::threebody {

namespace {

struct FieldRow {
    Field field;
    FieldType type;
    const char* long_name;
    const char* help;  // a clause for the table of keys
    bool needs_state;
    bool adaptive_only = false;
    bool of_deviation = false;  // computed from how a small deviation grows
};

constexpr FieldRow rows[] = {
    {Field::steps_together, FieldType::Int32, "steps until the twin systems are further apart than the limit",
     "the first step at whose start the twins have parted, else integrate.steps. The other fields describe "
     "the "
     "system without shift up to that step",
     false},
    {Field::time_together, FieldType::Float64, "time until the twin systems are further apart than the limit",
     "the time at which the twins part, else integrate.dt * integrate.steps", true},
    {Field::energy_error, FieldType::Float64,
     "relative error of the first system's energy when the pair was decided",
     "|E - E0| / |E0|, the relative error of its total energy", true},
    {Field::angular_momentum_error, FieldType::Float64,
     "error of the first system's angular momentum when the pair was decided",
     "|L - L0| / sum of m |r| |v|, the error of the total angular momentum relative to the largest that "
     "bodies at "
     "these distances and speeds can have",
     true},
    {Field::closest_approach, FieldType::Float64, "smallest distance of any two bodies of the first system",
     "the smallest distance between two bodies", false},
    {Field::closest_time, FieldType::Float64, "time of the first system's closest approach",
     "when that was; only with an adaptive method", false, true},
    {Field::closest_pair, FieldType::Int32, "the two bodies of the first system's closest approach",
     "which two; only with an adaptive method", false, true},
    {Field::escaper, FieldType::Int32, "the body of the first system that escapes",
     "the body that certainly leaves the other two forever, or none; only with an adaptive method", false,
     true},
    {Field::escape_time, FieldType::Float64, "time at which the escape of a body is certain",
     "when that was certain first, or not a number; only with an adaptive method", false, true},
    {Field::lyapunov_exponent, FieldType::Float64, "largest Lyapunov exponent of the first system",
     "the mean rate at which a small deviation grows, per unit of time; only with an adaptive method and "
     "stop.separation = inf. The deviation starts along system.twin_shift, of whatever length",
     false, true, true},
    {Field::megno, FieldType::Float64,
     "mean exponential growth factor of nearby orbits (MEGNO), averaged over time",
     "near 2 where the motion is regular, and growing with time where it is chaotic; as lyapunov_exponent",
     false, true, true},
    {Field::final_state, FieldType::Float64,
     "positions and velocities of the first system when the pair was decided", "positions and velocities",
     true},
    {Field::step_count, FieldType::Int32, "steps of the integrator, rejected ones included",
     "steps done, of an adaptive method also the rejected ones", true},
    {Field::quality, FieldType::Int32, "whether the pair was followed to its end",
     "complete, or stopped if a pair spent integrate.max_steps or its bodies collided; the other fields then "
     "describe the last state reached",
     true},
};

struct Member {
    const char* name;
    std::size_t offset;
};

constexpr Member members[] = {
#define VOLTPILE_MEMBER(member) {#member, offsetof(Outcome, member)},
    VOLTPILE_THREEBODY_FIELDS(VOLTPILE_MEMBER)
#undef VOLTPILE_MEMBER
};

const Member& member_of(const FieldRow& row) {
    return members[static_cast<int>(row.field)];
}

const FieldRow& row_named(std::string_view name) {
    for (const FieldRow& row : rows) {
        if (member_of(row).name == name) return row;
    }
    throw std::logic_error("threebody has no field " + std::string(name));
}

}  // namespace

std::vector<std::string> field_names() {
    std::vector<std::string> names;
    for (const Member& member : members) names.emplace_back(member.name);
    return names;
}

std::string fields_help() {
    std::string help = "The fields of the result at each point.";
    for (const FieldRow& row : rows) help += fmt::format(" {}: {}.", member_of(row).name, row.help);
    return help;
}

OutcomeField outcome_field(std::string_view name, const Problem& problem) {
    const FieldRow& row = row_named(name);
    OutcomeField field;
    field.number = static_cast<int>(row.field);
    field.offset = member_of(row).offset;
    field.spec.name = name;
    field.spec.type = row.type;
    field.spec.unit = "1";
    field.spec.long_name = row.long_name;
    if (row.field == Field::steps_together) field.spec.plot_from = problem.largest_steps;
    if (row.field == Field::final_state) {
        field.spec.dimensions = {{"body", {"1", "2", "3"}}, {"component", {"x", "y", "z", "vx", "vy", "vz"}}};
    }
    if (row.field == Field::closest_pair) field.spec.labels = {"1-2", "1-3", "2-3"};
    if (row.field == Field::escaper) field.spec.labels = {"none", "body_1", "body_2", "body_3"};
    if (row.field == Field::quality) field.spec.labels = {"complete", "stopped"};
    return field;
}

bool needs_adaptive_method(std::string_view name) {
    return row_named(name).adaptive_only;
}

bool brings_twin_back(std::string_view name) {
    return row_named(name).of_deviation;
}

void request_field(const OutcomeField& field, Problem& problem) {
    const auto wanted = static_cast<Field>(field.number);
    problem.want_state |= row_named(field.spec.name).needs_state;
    problem.want_closest_approach |=
        wanted == Field::closest_approach || wanted == Field::closest_time || wanted == Field::closest_pair;
    problem.want_deviation |= row_named(field.spec.name).of_deviation;
    problem.want_escape |= wanted == Field::escaper || wanted == Field::escape_time;
}

}  // namespace voltpile::threebody
