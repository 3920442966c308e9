// Defines the fields that a three-body job can write and the layout of outcomes in their buffers.
#pragma once

#include <string_view>
#include <vector>

#include "results/field.h"
#include "threebody/problem.h"

namespace voltpile::threebody {

enum class OutcomeField { StepsTogether, EnergyError, ClosestApproach, FinalState };

// name: one of the choices of the job key output.fields. Throws std::logic_error for any other.
OutcomeField outcome_field(std::string_view name);

FieldSpec field_spec(OutcomeField field, const Problem& problem);

// One buffer per field for `points` points, as ResultWriter::submit takes them.
class OutcomeBuffers {
  public:
    OutcomeBuffers(std::vector<OutcomeField> fields, std::size_t points);

    // Different threads may store different indices at the same time.
    void store(std::size_t index, const Outcome& outcome);

    std::vector<FieldBuffer> release() { return std::move(data_); }

  private:
    std::vector<OutcomeField> fields_;
    std::vector<FieldBuffer> data_;
};

}  // namespace voltpile::threebody
