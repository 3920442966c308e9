// The fields that a three-body job can write, and how outcomes are laid out in their buffers.
#pragma once

#include <string_view>
#include <vector>

#include "results/field.h"
#include "threebody/problem.h"

namespace voltpile::threebody {

enum class OutcomeField { StepsTogether, EnergyError, ClosestApproach, FinalState };

// `name` as in the job key output.fields. Throws std::logic_error on any other.
OutcomeField outcome_field(std::string_view name);

FieldSpec field_spec(OutcomeField field, const Problem& problem);

// One buffer a field, as ResultWriter::submit wants them, for `points` points.
class OutcomeBuffers {
  public:
    OutcomeBuffers(std::vector<OutcomeField> fields, std::size_t points);

    // Different indices may be stored from different threads at once.
    void store(std::size_t index, const Outcome& outcome);

    std::vector<FieldBuffer> release() { return std::move(data_); }

  private:
    std::vector<OutcomeField> fields_;
    std::vector<FieldBuffer> data_;
};

}  // namespace voltpile::threebody
