// Describes the fields that a three-body job can write.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sweep/outcome_field.h"
#include "threebody/outcome.h"
#include "threebody/problem.h"

namespace voltpile::threebody {

// Returns the names of all fields, indexed by Field: the choices of the job key output.fields.
std::vector<std::string> field_names();

// Returns the help of the job key output.fields: what each field is.
std::string fields_help();

// name: one of field_names(). Throws std::logic_error for any other. problem: for the field's picture.
OutcomeField outcome_field(std::string_view name, const Problem& problem);

// Whether only adaptive methods provide the field. name: as above.
bool needs_adaptive_method(std::string_view name);

// Whether the field is computed from a twin that is brought back near the first system again and again, so
// that the two cannot part. name: as above.
bool brings_twin_back(std::string_view name);

// Lets the kernels compute what the field needs.
void request_field(const OutcomeField& field, Problem& problem);

}  // namespace voltpile::threebody
