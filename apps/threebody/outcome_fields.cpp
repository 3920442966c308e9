#include "threebody/outcome_fields.h"

#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

namespace voltpile::threebody {

OutcomeField outcome_field(std::string_view name) {
    if (name == "steps_together") return OutcomeField::StepsTogether;
    if (name == "energy_error") return OutcomeField::EnergyError;
    if (name == "closest_approach") return OutcomeField::ClosestApproach;
    if (name == "final_state") return OutcomeField::FinalState;
    throw std::logic_error("threebody has no field " + std::string(name));
}

FieldSpec field_spec(OutcomeField field, const Problem& problem) {
    FieldSpec spec;
    spec.unit = "1";
    switch (field) {
        case OutcomeField::StepsTogether:
            spec.name = "steps_together";
            spec.type = FieldType::Int32;
            spec.long_name = "steps until the twin systems are further apart than the limit";
            spec.plot_from = problem.largest_steps;
            break;
        case OutcomeField::EnergyError:
            spec.name = "energy_error";
            spec.long_name = "relative error of the first system's energy when the pair was decided";
            break;
        case OutcomeField::ClosestApproach:
            spec.name = "closest_approach";
            spec.long_name = "smallest distance of any two bodies of the first system";
            break;
        case OutcomeField::FinalState:
            spec.name = "final_state";
            spec.long_name = "positions and velocities of the first system when the pair was decided";
            spec.dimensions = {{"body", {"1", "2", "3"}}, {"component", {"x", "y", "z", "vx", "vy", "vz"}}};
            break;
    }
    return spec;
}

namespace {

std::size_t bytes_of(OutcomeField field) {
    switch (field) {
        case OutcomeField::StepsTogether:
            return sizeof(Outcome::steps_together);
        case OutcomeField::EnergyError:
            return sizeof(Outcome::energy_error);
        case OutcomeField::ClosestApproach:
            return sizeof(Outcome::closest_approach);
        case OutcomeField::FinalState:
            return sizeof(Outcome::final_state);
    }
    return 0;
}

const void* value_of(OutcomeField field, const Outcome& outcome) {
    switch (field) {
        case OutcomeField::StepsTogether:
            return &outcome.steps_together;
        case OutcomeField::EnergyError:
            return &outcome.energy_error;
        case OutcomeField::ClosestApproach:
            return &outcome.closest_approach;
        case OutcomeField::FinalState:
            return &outcome.final_state;
    }
    return nullptr;
}

}  // namespace

OutcomeBuffers::OutcomeBuffers(std::vector<OutcomeField> fields, std::size_t points)
    : fields_(std::move(fields)) {
    for (const OutcomeField field : fields_) data_.emplace_back(points * bytes_of(field));
}

void OutcomeBuffers::store(std::size_t index, const Outcome& outcome) {
    for (std::size_t f = 0; f < fields_.size(); ++f) {
        const std::size_t bytes = bytes_of(fields_[f]);
        std::memcpy(data_[f].data() + index * bytes, value_of(fields_[f], outcome), bytes);
    }
}

}  // namespace voltpile::threebody
