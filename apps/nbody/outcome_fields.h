// Describes the fields that an n-body job can write.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "nbody/outcome.h"
#include "sweep/outcome_field.h"

namespace voltpile::nbody {

// Returns the names of all fields, indexed by Field: the choices of the job key output.fields.
std::vector<std::string> field_names();

// Returns the help of the job key output.fields: what each field is.
std::string fields_help();

// Whether the field describes when twins part. name: one of field_names().
bool is_of_twin(std::string_view name);

// Whether the field describes the growth of a small deviation. name: as above.
bool is_of_deviation(std::string_view name);

// name: one of field_names(). Throws std::logic_error for any other. bodies: their number. twin: whether
// twins can part.
OutcomeField outcome_field(std::string_view name, int bodies, bool twin);

}  // namespace voltpile::nbody
