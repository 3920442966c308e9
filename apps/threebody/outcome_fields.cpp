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
    {Field::closest_approach, FieldType::Float64, "smallest distance of any two bodies of the first system",
     "the smallest distance between two bodies", false},
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
    for (const FieldRow& row : rows) {
        if (member_of(row).name != name) continue;
        OutcomeField field;
        field.number = static_cast<int>(row.field);
        field.offset = member_of(row).offset;
        field.spec.name = name;
        field.spec.type = row.type;
        field.spec.unit = "1";
        field.spec.long_name = row.long_name;
        if (row.field == Field::steps_together) field.spec.plot_from = problem.largest_steps;
        if (row.field == Field::final_state) {
            field.spec.dimensions = {{"body", {"1", "2", "3"}},
                                     {"component", {"x", "y", "z", "vx", "vy", "vz"}}};
        }
        if (row.field == Field::quality) field.spec.labels = {"complete", "stopped"};
        return field;
    }
    throw std::logic_error("threebody has no field " + std::string(name));
}

void request_field(const OutcomeField& field, Problem& problem) {
    for (const FieldRow& row : rows) {
        if (static_cast<int>(row.field) == field.number) problem.want_state |= row.needs_state;
    }
    problem.want_closest_approach |= field.number == static_cast<int>(Field::closest_approach);
}

}  // namespace voltpile::threebody
