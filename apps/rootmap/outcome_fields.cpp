#include "rootmap/outcome_fields.h"

#include <fmt/format.h>

#include <cstddef>
#include <stdexcept>

#include "rootmap/methods.h"

namespace voltpile::rootmap {

namespace {

struct FieldRow {
    Field field;
    FieldType type;
    const char* long_name;
    const char* help;  // a clause for the table of keys
};

constexpr FieldRow field_rows[] = {
    {Field::iterations, FieldType::Int32, "iterations until the point was decided",
     "steps until a root or cycle is reached or the point escapes, else iterate.max_iterations"},
    {Field::root, FieldType::Int32, "root that the point reaches",
     "which root is reached, by rising angle from the positive real axis, then by size; only methods for "
     "roots"},
    {Field::smooth, FieldType::Float64, "iterations as a continuous number",
     "the iterations as a real number without jumps between neighbors; not of henon, clifford, de_jong"},
    {Field::distance, FieldType::Float64, "estimated distance to the set of points that do not escape",
     "2 |z| ln|z| / |z'|, an estimate of the distance to the set, and 0 inside; best with an "
     "iterate.escape_radius of 100 or more; only mandelbrot and julia"},
    {Field::period, FieldType::Int32, "period of the cycle that the point reaches",
     "the period of the cycle that is reached, 0 if none is; only clifford and de_jong"},
    {Field::final_z, FieldType::Float64, "last point reached", "the last point reached, [x, y]"},
    {Field::quality, FieldType::Int32, "how the iteration ended",
     "decided; stopped if iterate.max_iterations were spent before; not_finite or zero_derivative if the "
     "next point was too large, not a number, or a division by zero"},
};

struct MemberOffset {
    const char* name;
    std::size_t offset;
};

constexpr MemberOffset member_offsets[] = {
#define VOLTPILE_MEMBER(member) {#member, offsetof(Outcome, member)},
    VOLTPILE_ROOTMAP_FIELDS(VOLTPILE_MEMBER)
#undef VOLTPILE_MEMBER
};

const FieldRow& field_row(std::string_view name) {
    for (const FieldRow& row : field_rows) {
        if (member_offsets[static_cast<int>(row.field)].name == name) return row;
    }
    throw std::logic_error("rootmap has no field " + std::string(name));
}

std::string list_of(const RootList& roots) {
    constexpr int most_listed = 16;
    std::string list;
    for (int i = 0; i < roots.count && i < most_listed; ++i)
        list += fmt::format("{} {}: {:.9g}{:+.9g}i", i == 0 ? "" : ",", i + 1, roots.re[i], roots.im[i]);
    return list + (roots.count > most_listed ? ", ..." : "");
}

}  // namespace

std::vector<std::string> field_names() {
    std::vector<std::string> names;
    for (const MemberOffset& member : member_offsets) names.emplace_back(member.name);
    return names;
}

std::string fields_help() {
    std::string help = "The fields of the result at each point.";
    for (const FieldRow& row : field_rows)
        help += fmt::format(" {}: {}.", member_offsets[static_cast<int>(row.field)].name, row.help);
    return help;
}

OutcomeField outcome_field(std::string_view name, const Problem& problem) {
    const FieldRow& row = field_row(name);
    OutcomeField field;
    field.number = static_cast<int>(row.field);
    field.offset = member_offsets[field.number].offset;
    field.spec.name = name;
    field.spec.type = row.type;
    field.spec.unit = "1";
    field.spec.long_name = row.long_name;
    if (row.field == Field::root) {
        field.spec.long_name += ";" + list_of(problem.roots);
        field.spec.labels.emplace_back("none");
        for (int i = 1; i <= problem.roots.count; ++i) field.spec.labels.push_back(fmt::format("root_{}", i));
    }
    if (row.field == Field::final_z) field.spec.dimensions = {{"component", {"x", "y"}}};
    if (row.field == Field::quality)
        field.spec.labels = {"decided", "stopped", "not_finite", "zero_derivative"};
    return field;
}

bool provides(Method method, std::string_view name) {
    const MethodInfo& about = info(method);
    switch (field_row(name).field) {
        case Field::root:
            return about.kind == Kind::Root;
        case Field::smooth:
            return about.order > 0;
        case Field::distance:
            return about.distance;
        case Field::period:
            return about.kind == Kind::Attractor;
        default:
            return true;
    }
}

}  // namespace voltpile::rootmap
