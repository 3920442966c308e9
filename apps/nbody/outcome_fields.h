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

// name: one of field_names(). Throws std::logic_error for any other. bodies: their number.
OutcomeField outcome_field(std::string_view name, int bodies);

}  // namespace voltpile::nbody
